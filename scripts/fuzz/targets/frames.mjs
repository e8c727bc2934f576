// Target: MessagePack frames. Sessions of valid frames, the same with bytes changed, and random bytes go through the
// frame decoder and the MessagePack decoder, in random pieces.
//
// Oracles: nothing but registered errors is thrown; valid frames come out as the values that went in; pieces make no
// difference; what is decoded stays within its budget and survives another round trip.
import { isDeepStrictEqual } from 'node:util';
import { decodeMessagePack, encodeFrame, encodeMessagePack, FrameDecoder } from '../../../dist/wire/index.js';
import { cut, pieceSizes } from '../cut.mjs';
import { measure } from '../judge-json.mjs';
import { LEADS, mutateBytes } from '../mutate-bytes.mjs';
import { isRegistered } from '../oracles.mjs';

const KEYS = [
  'id',
  'type',
  'functionName',
  'params',
  'result',
  'error',
  'chunk',
  '__proto__',
  'constructor',
  'é',
  '0',
  '',
];
const MAX_FRAME_BYTES = 64 * 1024;

/** Makes one case: what to feed, in which pieces, within which budget, and what must come out if that is known. */
export function generate(random) {
  const kind = random.pick(['valid', 'mutated', 'mutated', 'mutated', 'payload', 'random']);
  const values = [];
  let stream;
  if (kind === 'random') {
    stream = random.bytes(1 + random.below(60));
    if (!random.oneIn(4)) stream[0] = 1;
  } else if (kind === 'payload') {
    // Random bytes inside a frame that is well-formed: the MessagePack decoder gets to see all of them.
    const frames = Array.from({ length: 1 + random.below(6) }, () => wrap(payload(random)));
    stream = Buffer.concat(frames);
  } else {
    for (let left = 1 + random.below(6); left > 0; left -= 1) values.push(message(random));
    stream = Buffer.concat(values.map((value) => encodeFrame(value)));
    if (kind === 'mutated') stream = mutateBytes(random, stream);
  }
  const budget = random.oneIn(3) ? { depth: 1 + random.below(6), values: 1 + random.below(40) } : {};
  const pieces = pieceSizes(random);
  return {
    kind,
    stream,
    pieces,
    budget: kind === 'valid' ? {} : budget,
    values: kind === 'valid' ? values : undefined,
  };
}

/** What of a case goes into a file: what must come out is known from its seed only. */
export function saved({ values: _, ...rest }) {
  return rest;
}

/** Runs one case. Returns how many frames it held and how it ended; throws when an oracle is violated. */
export function check({ stream, pieces, budget, values }) {
  const whole = run([stream], budget);
  const split = run(cut(stream, pieces), budget);
  if (!isDeepStrictEqual(whole, split))
    throw new Error(`pieces change the outcome: ${whole.outcome} or ${split.outcome}`);
  if (values !== undefined && !isDeepStrictEqual(whole, { outcome: 'ok', values })) {
    throw new Error(`valid frames came out as something else (${whole.outcome})`);
  }
  for (const value of whole.values) {
    const size = measure(value);
    if (size.values > (budget.values ?? Number.POSITIVE_INFINITY))
      throw new Error(`${size.values} values were decoded`);
    if (size.depth > (budget.depth ?? 64)) throw new Error(`${size.depth} levels were decoded`);
    if (!isDeepStrictEqual(decodeMessagePack(encodeMessagePack(value)), value)) {
      throw new Error('a decoded value does not survive a round trip');
    }
  }
  return { frames: Math.max(1, whole.values.length + (whole.outcome === 'ok' ? 0 : 1)), outcome: whole.outcome };
}

function run(chunks, budget) {
  const decoder = new FrameDecoder({ maxFrameBytes: MAX_FRAME_BYTES });
  const values = [];
  try {
    for (const chunk of chunks) decoder.push(chunk, (bytes) => values.push(decodeMessagePack(bytes, budget)));
    decoder.end();
  } catch (error) {
    if (!isRegistered(error)) throw error;
    return { outcome: error.code, values };
  }
  return { outcome: 'ok', values };
}

function message(random) {
  const value = { type: random.below(6), id: `c${random.below(1000)}` };
  if (random.oneIn(2)) value.functionName = random.pick(['add', 'divide', 'getProductDetails']);
  value[random.pick(['params', 'result', 'chunk'])] = wireValue(random, 4);
  return value;
}

function wireValue(random, depth) {
  switch (random.below(depth > 0 ? 11 : 8)) {
    case 0:
      return random.pick([null, true, false]);
    case 1:
      return random.below(300) - 150;
    case 2:
      return random.pick([1, -1]) * (random.next() * 2 ** random.below(21) + random.below(2));
    case 3:
      return random.pick([-0, 0.5, 1e300, 5e-324, Math.PI, -1.5]);
    case 4:
      return random.pick([2n ** 53n, 2n ** 64n - 1n, -(2n ** 63n), -(2n ** 53n)]);
    case 5:
      return random
        .pick(['a', 'é', '日本', '😀', '\u0000', '\ufeff'])
        .repeat(random.below(random.oneIn(20) ? 400 : 20));
    case 6:
      return `text ${random.next()}`;
    case 7:
      return new Uint8Array(random.bytes(random.below(random.oneIn(10) ? 300 : 10)));
    case 8:
    case 9:
      return Array.from({ length: random.below(random.oneIn(20) ? 40 : 5) }, () => wireValue(random, depth - 1));
    default: {
      const entries = Array.from({ length: random.below(6) }, () => [random.pick(KEYS), wireValue(random, depth - 1)]);
      return Object.fromEntries(entries);
    }
  }
}

function wrap(bytes) {
  const frame = Buffer.alloc(5 + bytes.length);
  frame[0] = 1;
  frame.writeUInt32BE(bytes.length, 1);
  bytes.copy(frame, 5);
  return frame;
}

function payload(random) {
  const bytes = random.bytes(1 + random.below(40));
  // Evenly random bytes end in a small integer most of the time: lead bytes that start something go deeper.
  bytes[0] = random.oneIn(3) ? random.pick(LEADS) : 0x80 + random.below(64);
  if (random.oneIn(20)) bytes.fill(random.pick([0x91, 0x81, 0xdc, 0xa1]));
  return bytes;
}
