// The guest's side against a host that lies: `serveDuplex` over a pair of streams, and the C guest behind `WS /wasm/guest` of the
// built server.
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { serveDuplex } from '../../../dist/wasm/index.js';
import { encodeFrame } from '../../../dist/wire/index.js';
import { cut } from '../cut.mjs';
import { HANG_MS, hold, withinLimit } from '../oracles.mjs';
import { GuestModel } from './guest-model.mjs';
import { hostFrames } from './host-grammar.mjs';

const FUNCTIONS = {
  add: ([a, b]) => a + b,
  echo: (value) => value,
  divide: () => {
    throw new Error('Division by zero');
  },
  produce: async ({ stream, count }, context) => {
    await context.send(stream, numbers(count));
    return count;
  },
  consume: async ({ stream }, context) => {
    let count = 0;
    for await (const _ of context.receive(stream)) count += 1;
    return count;
  },
};
const LIMITS = { frameBytes: 64 * 1024, frameTimeoutMs: 5_000, streamIdleMs: 200, stallMs: 150 };
/** How long a guest may go on with what it was asked before the host hangs up. */
const QUIET_MS = 60;
const PROBE = encodeFrame({ type: 0, id: 'probe', functionName: 'add', params: [20, 22] });

export function lyingHostCase(random, mode) {
  return { mode, ...hostFrames(random), ending: random.pick(['end', 'end', 'destroy', 'stay']) };
}

async function* numbers(count) {
  for (let n = 0; n < count && n < 1_000; n += 1) yield n;
}

/** Runs a session of `serveDuplex`. */
export async function checkServeDuplex({ stream, pieces, ending }) {
  const [toGuest, toHost] = [new PassThrough(), new PassThrough()];
  const server = serveDuplex({ readable: toGuest, writable: toHost }, { functions: FUNCTIONS, limits: LIMITS });
  const model = new GuestModel(stream);
  let problem;
  let heardAt = performance.now();
  toHost.on('data', (chunk) => {
    heardAt = performance.now();
    try {
      model.heard(chunk);
    } catch (error) {
      problem ??= error;
    }
  });
  for (const one of [toGuest, toHost]) one.on('error', () => {});
  let reason;
  void server.closed.then((given) => {
    reason = given;
  });
  for (const piece of cut(stream, pieces)) {
    if (toGuest.destroyed) break;
    toGuest.write(piece);
    await turn();
  }
  const deadline = performance.now() + HANG_MS;
  while (model.owed.length > 0 && reason === undefined && problem === undefined) {
    hold(performance.now() < deadline, `hang: no answer to ${model.owed} after ${HANG_MS} ms`);
    await turn();
  }
  while (ending === 'stay' && reason === undefined && performance.now() - heardAt < QUIET_MS) await turn();
  if (problem !== undefined) throw problem;
  const early = reason;
  if (ending === 'destroy') toGuest.destroy(new Error('the host is gone'));
  else toGuest.end();
  await withinLimit(server.closed, 'the session does not end with its input');
  if (early !== undefined)
    hold(
      model.violated || /stream|idle|stall|terminated by this side/i.test(early.message),
      `it ended without a reason that we know of: ${early.message}`,
    );
  return { frames: 1, outcome: `serveDuplex: ${early === undefined ? 'served' : 'ended'}` };
}

/** Runs a session with the C guest of a server: what it makes of broken frames is its own business, but the server lives. */
export async function checkRelay(server, { stream, pieces, ending }) {
  const url = `${server.socketUrl}/wasm/guest`;
  const socket = await openSocket(url);
  const model = new GuestModel(stream);
  let problem;
  socket.on('message', (data) => {
    try {
      if (!model.violated) model.heard(data);
    } catch (error) {
      problem ??= error;
    }
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const piece of cut(stream, pieces)) {
    if (socket.readyState !== WebSocket.OPEN) break;
    socket.send(piece);
    await turn();
  }
  const deadline = performance.now() + HANG_MS;
  while (!model.violated && model.owed.length > 0 && problem === undefined && socket.readyState === WebSocket.OPEN) {
    hold(performance.now() < deadline, `hang: no answer to ${model.owed} after ${HANG_MS} ms`);
    await turn();
  }
  if (ending === 'destroy') socket.terminate();
  else socket.close();
  await withinLimit(closed, 'the connection does not end');
  if (problem !== undefined) throw problem;
  server.verify();
  await probe(url);
  return { frames: 1, outcome: `relay: ${model.violated ? 'broken' : 'served'}` };
}

async function probe(url) {
  const socket = await openSocket(url);
  const answer = new Promise((resolve) => socket.once('message', resolve));
  socket.send(PROBE);
  const bytes = await withinLimit(answer, 'the next session has no answer');
  hold(bytes.length > 5 && bytes[0] === 1, 'the next session got something else');
  socket.terminate();
}

async function openSocket(url) {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  socket.on('error', () => {});
  await withinLimit(new Promise((resolve) => socket.once('open', resolve)), 'the server takes no connection');
  return socket;
}
