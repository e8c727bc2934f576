// Target: NDJSON. Lines of valid JSON, the same with characters changed, and random bytes go through the line decoder and
// the budgeted JSON decoder, in random pieces.
//
// Oracles: nothing but registered errors is thrown; pieces make no difference; a line is accepted exactly if `JSON.parse`
// accepts it, it has no duplicate key and it is within its budget; what is accepted equals what `JSON.parse` gives.
import { isDeepStrictEqual } from 'node:util';
import { JsonLineDecoder } from '../../../dist/wire/index.js';
import { cut, pieceSizes } from '../cut.mjs';
import { judgeJson } from '../judge-json.mjs';
import { mutateText } from '../mutate-json.mjs';
import { isRegistered } from '../oracles.mjs';

const KEYS = ['id', 'method', 'params', 'result', '__proto__', 'constructor', 'é', '0', '', 'a"b', 'back\\slash'];
const PIECES = [
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '"',
  '\\',
  '\\u0041',
  '\\"',
  'true',
  'null',
  '-0',
  '1e5',
  ' ',
  '\t',
  '\r',
  '9',
  'é',
];
const MAX_LINE_BYTES = 4 * 1024;

/** Makes one case. */
export function generate(random) {
  const kind = random.pick(['valid', 'mutated', 'mutated', 'soup', 'random']);
  const texts = Array.from({ length: 1 + random.below(5) }, () => {
    if (kind === 'soup') return Array.from({ length: 1 + random.below(30) }, () => random.pick(PIECES)).join('');
    const text = JSON.stringify(value(random, 4));
    return kind === 'mutated' ? mutateText(random, text).replaceAll('\n', ' ') : text;
  });
  const end = random.pick(['\n', '\r\n']);
  const stream =
    kind === 'random'
      ? random.bytes(1 + random.below(80))
      : Buffer.from(texts.join(end) + (random.oneIn(2) ? end : ''));
  const budget = random.oneIn(3) ? { depth: 1 + random.below(6), values: 1 + random.below(30) } : {};
  const pieces = pieceSizes(random);
  return { kind, stream, pieces, budget };
}

/** Runs one case. */
export function check({ stream, pieces, budget }) {
  const whole = run([stream], budget);
  const split = run(cut(stream, pieces), budget);
  if (!isDeepStrictEqual(whole, split))
    throw new Error(`pieces change the outcome: ${whole.outcome} or ${split.outcome}`);
  const lines = stream.toString('latin1').split('\n');
  const expected = [];
  for (const line of lines) {
    if (/^[ \t\r]*$/.test(line)) continue;
    const judged = judgeJson(Buffer.from(line.replace(/\r$/, ''), 'latin1'), { bytes: MAX_LINE_BYTES, ...budget });
    if (judged === undefined) break;
    expected.push(judged.value);
  }
  if (!isDeepStrictEqual(whole.values, expected))
    throw new Error(`${whole.values.length} lines came out, ${expected.length} were expected`);
  return { frames: Math.max(1, whole.values.length + (whole.outcome === 'ok' ? 0 : 1)), outcome: whole.outcome };
}

function run(chunks, budget) {
  const decoder = new JsonLineDecoder({ budget: { ...budget, bytes: MAX_LINE_BYTES } });
  const values = [];
  try {
    for (const chunk of chunks) decoder.push(chunk, (value) => values.push(value));
    decoder.end((value) => values.push(value));
  } catch (error) {
    if (!isRegistered(error)) throw error;
    return { outcome: error.code, values };
  }
  return { outcome: 'ok', values };
}

function value(random, depth) {
  switch (random.below(depth > 0 ? 8 : 5)) {
    case 0:
      return random.pick([null, true, false, 0, -1, 1.5, 1e21]);
    case 1:
      return random.below(1000);
    case 2:
      return random.pick(['', 'a', 'é', '😀', '"', '\\', '\u0000', ':,{}[]', '\ud800']).repeat(random.below(6));
    case 3:
      return `text ${random.next()}`;
    case 4:
      return random.pick([[], {}]);
    case 5:
    case 6:
      return Array.from({ length: random.below(5) }, () => value(random, depth - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(6) }, () => [random.pick(KEYS), value(random, depth - 1)]),
      );
  }
}
