// Target: duplex-rpc sessions. A guest that mutates what it says talks to a host session: valid sessions of answers, calls,
// chunks and ends, with bytes flipped, cut, doubled and moved, in random pieces.
//
// Oracles: nothing but registered errors comes out; every call settles and every stream ends; what the host sends is always
// decodable; nothing is sent after the end.
import { SallyportError } from '../../../dist/errors/index.js';
import { completeLimits } from '../../../dist/wasm/limits.js';
import { readMessage } from '../../../dist/wasm/messages.js';
import { DuplexSession } from '../../../dist/wasm/session/session.js';
import { createSink } from '../../../dist/wasm/session/sink.js';
import { decodeMessagePack, encodeFrame, FrameDecoder } from '../../../dist/wire/index.js';
import { cut, pieceSizes } from '../cut.mjs';
import { mutateBytes } from '../mutate-bytes.mjs';
import { isRegistered } from '../oracles.mjs';

const LIMITS = completeLimits({
  frameBytes: 64 * 1024,
  streamBufferBytes: 4 * 1024,
  discardBytes: 4 * 1024,
  concurrentCallbacks: 8,
});
const CALLS = 4;
const NAMES = ['granted', 'failing', 'cb_0', 'cb_1', 'cb_9', 'nope', '__proto__', 'toString', ''];
const IDS = ['c0', 'c1', 'c2', 'c3', 'c9', 'r0', 'r1', 'r2', 's0', 'x', 'g0', 'g1', '0', ''];

/** Makes one case: what the guest says, in which pieces. */
export function generate(random) {
  const frames = [];
  const steps = 1 + random.below(24);
  // Ids that may still be used: most of a session keeps the rules, so that what breaks them meets a session under way.
  const open = { calls: ['c0', 'c1', 'c2', 'c3'], streams: ['r0', 'r1', 'r2', 'r3'] };
  for (let step = 0; step < steps; step += 1) frames.push(encodeFrame(message(random, step, open)));
  let stream = Buffer.concat(frames);
  if (!random.oneIn(3)) stream = mutateBytes(random, stream);
  return { stream, pieces: pieceSizes(random, 120) };
}

/** Runs one case. Returns how many frames it held and how it ended; throws when an oracle is violated. */
export async function check({ stream, pieces }) {
  const endings = [];
  const sent = [];
  let ended = false;
  let time = 0;
  const session = new DuplexSession({
    limits: LIMITS,
    onForbidden: 'violation',
    grant: (name) => {
      if (name === 'granted') return (call) => ({ ok: true, result: call.params });
      return name === 'failing' ? () => ({ ok: false, error: 'no' }) : undefined;
    },
    port: {
      send: (outgoing) => {
        if (ended) throw new Error('something was sent after the end');
        readMessage(decodeMessagePack(encodeFrame(outgoing).subarray(5)));
        sent.push(outgoing);
      },
      now: () => (time += 1),
      wake: () => {},
      broken: (error) => {
        throw error;
      },
    },
  });
  for (let index = 0; index < CALLS; index += 1) {
    const sink = createSink();
    const params = { sink, callback: (value) => value, list: [index] };
    endings.push(session.call('work', params, { timeoutMs: 1_000_000 }), drain(sink));
  }
  const decoder = new FrameDecoder({ maxFrameBytes: LIMITS.frameBytes });
  let outcome = 'ok';
  let frames = 0;
  try {
    for (const piece of cut(stream, pieces)) {
      decoder.push(piece, (payload) => {
        frames += 1;
        session.receive(readMessage(decodeMessagePack(payload)), payload.length);
      });
    }
    decoder.end();
  } catch (error) {
    if (!isRegistered(error)) throw error;
    outcome = error.code;
  }
  session.end((waiting) => new SallyportError('WASM_EXITED', `the guest of ${waiting} ended`));
  ended = true;
  if (session.load !== 0) throw new Error(`${session.load} things are left after the end`);
  for (const ending of await Promise.allSettled(endings)) {
    if (ending.status === 'rejected' && !isRegistered(ending.reason)) throw ending.reason;
  }
  return { frames: Math.max(1, frames), outcome };
}

async function drain(chunks) {
  for await (const chunk of chunks) if (chunk === undefined) throw new Error('a chunk is undefined');
}

function message(random, step, open) {
  const value = random.pick([null, 1, 'text', [1, 2], { a: { b: 1 } }, new Uint8Array(300), 2n ** 60n]);
  const wild = random.oneIn(25);
  const kind = random.below(8);
  if (kind < 3) {
    const functionName = wild ? random.pick(NAMES) : random.pick(['granted', 'failing', 'cb_0', 'cb_1']);
    const call = { type: 0, id: wild ? random.pick(IDS) : `g${step}`, functionName, params: value };
    return random.oneIn(3) ? { ...call, expectsResponse: random.pick([true, false]) } : call;
  }
  if (kind < 5) {
    const id = wild || open.calls.length === 0 ? random.pick(IDS) : take(random, open.calls);
    return random.oneIn(3) ? { type: 2, id, error: 'it failed' } : { type: 1, id, result: value };
  }
  const ending = random.oneIn(4);
  if (wild || open.streams.length === 0) return { type: 3, id: random.pick(IDS), chunk: value };
  if (!ending) return { type: 3, id: random.pick(open.streams), chunk: value };
  const id = take(random, open.streams);
  return random.oneIn(2) ? { type: 4, id } : { type: 5, id, error: 'it broke' };
}

function take(random, list) {
  return list.splice(random.below(list.length), 1)[0];
}
