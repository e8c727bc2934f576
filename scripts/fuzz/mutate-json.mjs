// Changes in messages that are JSON: fields first, characters second.

/** Values that have hurt programs before. */
const HOSTILE = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e308,
  2 ** 53,
  -(2 ** 31),
  65536,
  '',
  ' ',
  '0',
  '__proto__',
  'constructor',
  'toString',
  '../..',
  'a\u0000b',
  '\ud800',
  '\u202e\u001b[31m',
  'x'.repeat(5_000),
  [],
  {},
  [[]],
  [null],
  { length: 3 },
  { toJSON: 1 },
  JSON.parse('{"__proto__":{"polluted":true}}'),
];
const KEYS = ['__proto__', 'constructor', 'id', 'type', 'method', 'params', 'result', 'error', 'extra', ''];
const BITS = ['{', '}', '[', ']', ':', ',', '"', '\\', '\\u0000', '-', '1e9', 'null', ' ', '\t', 'é', '\u0000'];
const DEEP = 80;

/** Changes a few fields of a value that JSON can hold. The original is left alone. */
export function mutateFields(random, original) {
  const root = { value: structuredClone(original) };
  for (let left = 1 + random.below(2); left > 0; left -= 1) {
    const places = placesIn(root);
    const { holder, key } = random.pick(places);
    switch (random.below(7)) {
      case 0:
      case 1:
        set(holder, key, hostile(random));
        break;
      case 2:
        if (holder !== root) remove(holder, key);
        break;
      case 3: {
        const from = random.pick(places);
        set(holder, key, structuredClone(from.holder[from.key]));
        break;
      }
      case 4:
        if (isObject(holder[key])) set(holder[key], random.pick(KEYS), hostile(random));
        else set(holder, key, [holder[key]]);
        break;
      case 5:
        if (typeof holder[key] === 'number') set(holder, key, -holder[key]);
        else if (typeof holder[key] === 'string') set(holder, key, `${holder[key]}${holder[key]}`.slice(0, 10_000));
        else set(holder, key, JSON.stringify(holder[key]) ?? null);
        break;
      default:
        if (random.oneIn(6)) set(holder, key, nested(random));
        else set(holder, key, hostile(random));
    }
  }
  return root.value;
}

/** Changes a few characters of a text. */
export function mutateText(random, text) {
  let result = text;
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const at = random.below(result.length + 1);
    const until = Math.min(result.length, at + random.below(8));
    switch (random.below(4)) {
      case 0:
        result = result.slice(0, at) + random.pick(BITS) + result.slice(at);
        break;
      case 1:
        result = result.slice(0, at) + result.slice(until);
        break;
      case 2:
        result = result.slice(0, until) + result.slice(at);
        break;
      default:
        // An entry that is doubled makes a duplicate key.
        result = result.replace(/\{("[^"\\]*":\d+)/, (_, entry) => `{${entry},${entry}`);
    }
  }
  return result;
}

function hostile(random) {
  return structuredClone(random.pick(HOSTILE));
}

function nested(random) {
  let value = null;
  for (let level = random.below(DEEP); level > 0; level -= 1) value = random.oneIn(2) ? [value] : { a: value };
  return value;
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Own properties whatever the key is. */
function set(holder, key, value) {
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

function remove(holder, key) {
  if (Array.isArray(holder)) holder.splice(key, 1);
  else delete holder[key];
}

function placesIn(root) {
  const places = [];
  const visit = (holder) => {
    for (const key of Object.keys(holder)) {
      places.push({ holder, key });
      if (typeof holder[key] === 'object' && holder[key] !== null) visit(holder[key]);
    }
  };
  visit(root);
  return places;
}
