// Our host against a guest program that lies: `openWasm` with a runtime whose process is played here, behind the same pipes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { PipeInput } from '../../../dist/sandbox/input.js';
import { StreamOutput } from '../../../dist/sandbox/output.js';
import { createSink, openWasm } from '../../../dist/wasm/index.js';
import { decodeMessagePack, encodeFrame, FrameDecoder } from '../../../dist/wire/index.js';
import { ROOT } from '../../lib/serve.mjs';
import { cut } from '../cut.mjs';
import { hold, isRegistered, withinLimit } from '../oracles.mjs';
import * as duplex from '../targets/duplex.mjs';

const MODULE = readFileSync(join(ROOT, 'examples/wasm/c/guest.wasm'));
const ENDINGS = ['stay', 'stay', 'exit', 'signal', 'close', 'silent'];
const CALLS = 4;
const LIMITS = {
  frameBytes: 64 * 1024,
  frameTimeoutMs: 100,
  streamBufferBytes: 4 * 1024,
  stallMs: 150,
  streamIdleMs: 200,
  discardBytes: 4 * 1024,
  concurrentCallbacks: 8,
  disposeGraceMs: 50,
};

/** What the guest says, in which pieces, when, and how it ends. */
export function lyingGuestCase(random) {
  const { stream, pieces } = duplex.generate(random);
  return {
    mode: 'guest program',
    stream,
    pieces,
    afterCalls: random.oneIn(5) ? 0 : CALLS,
    pauseMs: random.oneIn(4) ? random.below(5) : 0,
    noise: random.oneIn(8) ? random.bytes(1 + random.below(300)) : undefined,
    ending: random.pick(ENDINGS),
  };
}

/** Runs it and judges what our host makes of it. */
export async function checkLyingGuest(input) {
  let started = 0;
  const runtime = async () => ({
    report: { name: 'played', version: '1', enforces: {} },
    async start() {
      started += 1;
      const played = playProcess();
      // The first guest lies; the one that replaces it is honest.
      if (started === 1) void lie(played, input);
      else answerHonestly(played);
      return { process: played.process, ready: Promise.resolve(), failure: () => undefined };
    },
    dispose: async () => {},
  });
  const client = await openWasm(MODULE, {
    runtime,
    limits: LIMITS,
    timeoutMs: 400,
    grant: { granted: (value) => value, failing: () => Promise.reject(new Error('no')) },
    spawner: { spawn: () => Promise.reject(new Error('nothing is spawned')), dispose: async () => {} },
  });
  const outcomes = [];
  for (let index = 0; index < CALLS; index += 1) {
    const sink = createSink();
    outcomes.push(client.call.work({ sink, callback: (value) => value, list: [index] }), drain(sink));
  }
  const settled = await withinLimit(Promise.allSettled(outcomes), 'a call or a stream does not end');
  for (const { status, reason } of settled) {
    if (status === 'rejected') hold(isRegistered(reason), `rejected with ${reason?.stack}`);
  }
  // A guest that kept the rules is still there, and still says what it was told to say.
  const next = await withinLimit(nextCall(client), 'the next call does not end');
  hold(next === 'ok' || started === 1, `the next guest got ${next}`);
  await withinLimit(client.dispose(), 'dispose does not end');
  const failed = settled.find(({ status }) => status === 'rejected');
  return { frames: CALLS, outcome: `guest program: ${failed?.reason.code ?? 'ok'}` };
}

async function nextCall(client) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return (await client.call.echo('again')) === 'again' ? 'ok' : 'another answer';
    } catch (error) {
      hold(isRegistered(error), `rejected with ${error?.stack}`);
      if (attempt === 1) return error.code;
    }
  }
}

async function drain(sink) {
  for await (const chunk of sink) hold(chunk !== undefined, 'a chunk is undefined');
}

/** A process that is played: its pipes, and an end that can come from either side. */
function playProcess() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let leave;
  const exited = new Promise((resolve) => {
    leave = (exitCode, signal) => {
      stdout.end();
      stderr.end();
      stdin.destroy();
      resolve({ exitCode, signal, timedOut: false, usage: { wallMs: 1 } });
    };
  });
  const outputs = [new StreamOutput('stdout', stdout), new StreamOutput('stderr', stderr)];
  const kill = () => {
    leave(null, 'SIGKILL');
    stdout.destroy();
    return true;
  };
  const process = {
    pid: 1,
    processGroup: 1,
    level: 'process',
    outputs,
    input: new PipeInput(stdin, 64 * 1024 * 1024),
    extraPipes: [],
    vacated: false,
    exited,
    drained: exited.then(() => outputs[0].drained()),
    closed: exited,
    resize() {},
    eventLoop() {},
    kill,
    terminate: async () => void kill(),
    [Symbol.asyncDispose]: async () => void kill(),
  };
  return { process, stdin, stdout, stderr, leave };
}

async function lie({ stdin, stdout, stderr, leave }, { stream, pieces, afterCalls, pauseMs, noise, ending }) {
  let calls = 0;
  let heard = () => {};
  const decoder = new FrameDecoder();
  stdin.on('data', (chunk) => {
    decoder.push(chunk, () => {
      calls += 1;
      heard();
    });
  });
  stdin.on('error', () => {});
  stdout.on('error', () => {});
  await new Promise((resolve) => {
    heard = () => {
      if (calls >= afterCalls) resolve();
    };
    heard();
  });
  if (noise !== undefined) stderr.write(noise);
  for (const piece of cut(stream, pieces)) {
    if (stdout.destroyed || stdout.writableEnded) return;
    stdout.write(piece);
    await (pauseMs > 0 ? delay(pauseMs) : turn());
  }
  if (ending === 'exit') leave(3, null);
  if (ending === 'signal') leave(null, 'SIGSEGV');
  if (ending === 'close') stdout.end();
}

function answerHonestly({ stdin, stdout }) {
  const decoder = new FrameDecoder();
  stdin.on('error', () => {});
  stdin.on('data', (chunk) => {
    decoder.push(chunk, (payload) => {
      const { id, params } = decodeMessagePack(payload);
      stdout.write(encodeFrame({ id, type: 1, result: params }));
    });
  });
}
