// Target: NDJSON. Lines of valid JSON, the same with characters changed, and random bytes go through the line decoder and
// the budgeted JSON decoder, in random pieces.
//
// Oracles: nothing but registered errors is thrown; pieces make no difference; a line is accepted exactly if `JSON.parse`
// accepts it, it has no duplicate key and it is within its budget; what is accepted equals what `JSON.parse` gives.
import { isDeepStrictEqual } from 'node:util';
import { ERROR_REGISTRY, isSallyportError } from '../../dist/errors/index.js';
import { JsonLineDecoder } from '../../dist/wire/index.js';

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
    return kind === 'mutated' ? mutate(random, text) : text;
  });
  const end = random.pick(['\n', '\r\n']);
  const stream =
    kind === 'random'
      ? random.bytes(1 + random.below(80))
      : Buffer.from(texts.join(end) + (random.oneIn(2) ? end : ''));
  const budget = random.oneIn(3) ? { depth: 1 + random.below(6), values: 1 + random.below(30) } : {};
  const pieces = Array.from({ length: 1 + random.below(8) }, () => 1 + random.below(random.oneIn(2) ? 3 : 60));
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
    const judged = judge(Buffer.from(line.replace(/\r$/, ''), 'latin1'), budget);
    if (judged === undefined) break;
    expected.push(judged.value);
  }
  if (!isDeepStrictEqual(whole.values, expected))
    throw new Error(`${whole.values.length} lines came out, ${expected.length} were expected`);
  return { frames: Math.max(1, whole.values.length + (whole.outcome === 'ok' ? 0 : 1)), outcome: whole.outcome };
}

export function serialize({ kind, stream, pieces, budget }) {
  return { kind, stream: stream.toString('hex'), pieces, budget };
}
export function deserialize({ kind, stream, pieces, budget }) {
  return { kind, stream: Buffer.from(stream, 'hex'), pieces, budget };
}

/** The slow and obvious way: the value of a line that must be accepted, undefined for one that must not. */
function judge(bytes, budget) {
  if (bytes.length > MAX_LINE_BYTES) return undefined;
  let text;
  let value;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  let duplicate = false;
  // The reviver sees what is left after duplicates were merged, so keys are counted in the text.
  const size = measure(value);
  duplicate = size.keys !== keysIn(text);
  if (duplicate || size.values > (budget.values ?? 256 * 1024) || size.depth > (budget.depth ?? 64)) return undefined;
  return { value };
}

function keysIn(text) {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').split(':').length - 1;
}

function measure(value) {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0, keys: 0 };
  const inside = Object.values(value).map(measure);
  return {
    values: inside.reduce((sum, size) => sum + size.values, 1),
    depth: 1 + inside.reduce((most, size) => Math.max(most, size.depth), 0),
    keys: inside.reduce((sum, size) => sum + size.keys, Array.isArray(value) ? 0 : inside.length),
  };
}

function run(chunks, budget) {
  const decoder = new JsonLineDecoder({ budget: { ...budget, bytes: MAX_LINE_BYTES } });
  const values = [];
  try {
    for (const chunk of chunks) decoder.push(chunk, (value) => values.push(value));
    decoder.end((value) => values.push(value));
  } catch (error) {
    if (!isSallyportError(error) || !Object.hasOwn(ERROR_REGISTRY, error.code)) throw error;
    return { outcome: error.code, values };
  }
  return { outcome: 'ok', values };
}

function cut(stream, sizes) {
  const chunks = [];
  for (let at = 0, turn = 0; at < stream.length; turn += 1) {
    const size = sizes[turn % sizes.length];
    chunks.push(Buffer.from(stream.subarray(at, at + size)));
    at += size;
  }
  return chunks;
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

function mutate(random, text) {
  let result = text;
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const at = random.below(result.length + 1);
    const until = Math.min(result.length, at + random.below(6));
    switch (random.below(4)) {
      case 0:
        result = result.slice(0, at) + random.pick(PIECES) + result.slice(at);
        break;
      case 1:
        result = result.slice(0, at) + result.slice(until);
        break;
      case 2:
        // Doubled entries make duplicate keys.
        result = result.slice(0, until) + result.slice(at);
        break;
      default:
        result = result.replace(/\{("[^"\\]*":\d+)/, (_, entry) => `{${entry},${entry}`);
    }
  }
  return result.replaceAll('\n', ' ');
}
