// Valid sessions of a duplex-rpc host, as frames.
import { encodeFrame } from '../../../dist/wire/index.js';
import { pieceSizes } from '../cut.mjs';
import { mutateBytes } from '../mutate-bytes.mjs';

const VALUES = [null, 1, -7, 'text', '', [1, 'two'], { a: { b: null } }, true, new Uint8Array(200), 2n ** 60n];
const HOSTILE_NAMES = ['__proto__', 'constructor', 'toString', 'nope', '', 'cb_0', 'x'.repeat(300)];

/** What a host sends in one session, and what became of it on the way. */
export function hostFrames(random) {
  const frames = [];
  for (let step = 0, steps = 1 + random.below(10); step < steps; step += 1)
    frames.push(...messages(random, `h${step}`));
  const stream = Buffer.concat(frames.map((frame) => encodeFrame(frame)));
  return { stream: random.oneIn(3) ? stream : mutateBytes(random, stream), pieces: pieceSizes(random, 120) };
}

function messages(random, id) {
  const call = (functionName, params, more = {}) => ({ type: 0, id, functionName, params, ...more });
  switch (random.below(10)) {
    case 0:
    case 1:
      return [call('add', [random.below(100), random.below(100)])];
    case 2:
    case 3:
      return [call('echo', random.pick(VALUES))];
    case 4:
      return [call('divide', [1, 0])];
    case 5:
      return [call('echo', 1, { expectsResponse: false })];
    case 6:
      return [call('produce', { stream: `${id}-s`, count: random.below(5), size: 8 })];
    case 7: {
      const stream = `${id}-s`;
      const chunks = Array.from({ length: random.below(4) }, (_, chunk) => ({ type: 3, id: stream, chunk }));
      const end = random.oneIn(4) ? { type: 5, id: stream, error: 'broke' } : { type: 4, id: stream };
      return [call('consume', { stream }), ...chunks, ...(random.oneIn(8) ? [] : [end])];
    }
    case 8:
      return [call(random.pick(HOSTILE_NAMES), random.pick(VALUES))];
    default:
      // Answers that nobody asked for.
      return [
        random.pick([
          { type: 1, id: 'c0', result: 1 },
          { type: 2, id: 'x', error: 'no' },
          { type: 3, id: 'r0', chunk: 1 },
        ]),
      ];
  }
}
