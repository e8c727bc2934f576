// Target: the tool protocol over HTTP, against the built `sallyport serve` with a registry of its own on loopback. Connections of a
// few requests, whole or spoiled in fields, characters and bytes, with lengths or chunks, pipelined, in pieces, left early.
//
// Oracles: every whole request is answered with a response that HTTP and the protocol allow, in order, and never with an internal
// error; a valid one with what it asked for; the server lives, complains of nothing, stays within its memory, and the next
// request works.
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { startRegistry } from '../../lib/registry.mjs';
import { cut } from '../cut.mjs';
import { HANG_MS, hold, withinLimit } from '../oracles.mjs';
import { serverUnderTest } from '../server-under-test.mjs';
import { checkAnswer } from '../tool/answers.mjs';
import { connectionCase, PACKAGE, SOURCE } from '../tool/grammar.mjs';
import { ResponseReader } from '../tool/response-reader.mjs';

export const lanes = 3;
/** How long bytes that may not be a whole request are left to themselves: the server rightly waits for the rest. */
const RAW_WAIT_MS = 150;
const MAX_PIECES = 300;
/** How long the server lets a tool run whose limit was changed into none. */
const LONGEST_MS = 20_000;
const PROBE = {
  kind: 'valid',
  method: 'GET',
  expect: { status: 200 },
  bytes: Buffer.from('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'),
};

export function generate(random) {
  return connectionCase(random);
}

export async function open() {
  const registry = await startRegistry([{ name: PACKAGE, source: SOURCE }]);
  const server = await serverUnderTest({ registry: registry.url, toolLimits: { maxExecutionTimeMs: LONGEST_MS } });
  const port = Number(new URL(server.url).port);
  return {
    check: async (input) => {
      const outcome = await run(port, input);
      server.verify();
      await run(port, { requests: [PROBE] });
      return { frames: input.requests.length, outcome };
    },
    checkMemory: () => server.checkMemory(),
    close: async () => {
      try {
        return await server.close();
      } finally {
        await registry.close();
      }
    },
  };
}

/** Runs one connection. */
async function run(port, { requests, pipelined = false, leaveAfter }) {
  const socket = connect(port, '127.0.0.1');
  const answers = [];
  let problem;
  let wake = () => {};
  const reader = new ResponseReader(
    requests.map(({ method }) => method),
    (answer) => answers.push(answer),
  );
  socket.on('data', (chunk) => {
    try {
      reader.push(chunk);
    } catch (error) {
      problem ??= error;
    }
    wake();
  });
  let closed = false;
  let reset = false;
  socket.on('error', ({ code }) => {
    reset ||= code === 'ECONNRESET' || code === 'EPIPE';
  });
  socket.once('close', () => {
    closed = true;
    wake();
  });
  const until = (done, ms) =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      wake = () => {
        if (problem === undefined && !closed && !done()) return;
        clearTimeout(timer);
        resolve(true);
      };
      wake();
    });

  let sent = 0;
  for (const [index, request] of requests.entries()) {
    for (const piece of piecesOf(request)) {
      const room = leaveAfter === undefined ? piece.length : Math.max(0, leaveAfter - sent);
      if (closed) break;
      socket.write(piece.subarray(0, room));
      sent += piece.length;
      if (request.pieces !== undefined) await turn();
    }
    if (leaveAfter !== undefined && sent > leaveAfter) break;
    if (request.kind === 'raw') await until(() => answers.length > index, RAW_WAIT_MS);
    else if (!pipelined || index === requests.length - 1) {
      const done = await until(() => answers.length > index, HANG_MS);
      hold(done, `hang: no answer to request ${index} after ${HANG_MS} ms`);
    }
  }
  const left = leaveAfter !== undefined && sent > leaveAfter;
  socket.destroy();
  if (!closed) await withinLimit(new Promise((resolve) => socket.once('close', resolve)), 'a socket does not close');
  if (problem !== undefined) throw problem;
  // Closed behind an answer while more was on its way, a connection is reset, and the answer may go with it.
  if (reset && pipelined && answers.length === 0) return 'closed';
  return judge(requests, answers, left ? 'left' : 'stayed');
}

function judge(requests, answers, end) {
  for (const [index, answer] of answers.entries()) {
    const request = requests[index];
    // Bytes that were changed may be two requests.
    if (request === undefined)
      hold(requests.at(-1).kind === 'raw', `${answers.length} answers to ${requests.length} requests`);
    else checkAnswer(answer, request);
    // A refused body is not read, and the connection is closed behind its answer.
    if (answer.headers.get('connection') === 'close' && index < requests.length - 1) return 'closed';
  }
  if (end === 'left') return 'left';
  const whole = requests.filter(({ kind }) => kind !== 'raw').length;
  hold(answers.length >= whole, `${answers.length} answers to ${whole} whole requests`);
  return requests.at(-1).kind === 'raw' ? `raw, ${answers.length > whole ? 'answered' : 'silent'}` : 'answered';
}

function piecesOf({ bytes, pieces }) {
  if (pieces === undefined) return [bytes];
  const parts = cut(bytes, pieces);
  return parts.length <= MAX_PIECES ? parts : [bytes];
}
