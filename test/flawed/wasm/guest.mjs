import { decodeMessagePack } from '../../../dist/wire/msgpack/decode.js';
import { encodeMessagePack } from '../../../dist/wire/msgpack/encode.js';

/** One guest: takes bytes through `data`, and gives bytes to `write`. `flaws` are the mistakes that it makes. */
export function createGuest({ write, exit, flaws }) {
  const is = (name) => flaws.includes(name);
  const pending = new Map();
  const consumers = new Map();
  let issued = 0;
  let together = [];

  function frame(message) {
    const payload = Buffer.from(encodeMessagePack(message));
    const header = Buffer.of(1, 0, 0, 0, 0);
    header.writeUInt32BE(is('short-length') ? payload.length & 0xffff : payload.length, 1);
    return { header, payload };
  }

  function send(message) {
    const { header, payload } = frame(message);
    if (is('shared-frame') && typeof message.result === 'number') together.push(payload);
    else write(Buffer.concat([header, payload]));
  }

  /** Writes what belongs to one read of the input as one frame, which is the mistake. */
  function flush() {
    if (together.length === 0) return;
    const payload = Buffer.concat(together);
    const header = Buffer.of(1, 0, 0, 0, 0);
    header.writeUInt32BE(payload.length, 1);
    write(Buffer.concat([header, payload]));
    together = [];
  }

  const callHost = ({ name, params }) =>
    new Promise((resolve, reject) => {
      const id = is('same-callback-id') ? 'g' : `g${issued++}`;
      pending.set(is('last-callback-only') ? 'last' : id, { resolve, reject });
      const product = name === 'getProductDetails';
      const said = is('no-callback-params') && product ? {} : { params };
      const silent = is('callback-without-answer') ? { expectsResponse: false } : {};
      const functionName = is('short-names') ? name.slice(0, 20) : name;
      send({ type: 0, id: is('number-callback-id') && product ? issued : id, functionName, ...said, ...silent });
    });

  function produce({ stream, count, error }) {
    const id = is('ascii-stream-ids') ? stream.replaceAll(/[^ -~]/g, '?') : stream;
    const order = [...Array(count).keys()];
    if (is('reversed-chunks') && count === 5) order.reverse();
    for (const index of order)
      send({ type: 3, id, ...(is('no-chunk') && stream === 'out' && count === 3 ? {} : { chunk: index }) });
    if (error !== undefined) send({ type: 5, id, error });
    if (!(is('no-empty-stream') && count === 0) && (error === undefined || is('end-after-error')))
      send({ type: 4, id });
    if (is('chunk-after-end')) send({ type: 3, id, chunk: count });
    return count;
  }

  const consume = ({ stream }) =>
    new Promise((resolve, reject) => {
      const all = { count: 0, sum: 0, resolve, reject };
      consumers.set(is('one-consumer') ? 'the one' : stream, all);
      if (is('consume-returns-early')) resolve([0, 0]);
    });

  const functions = {
    add: ([a, b]) => a + b,
    divide: ([a, b]) => {
      if (b === 0) throw new Error(is('vague-error') ? 'failed' : 'Division by zero');
      return a / b;
    },
    echo: (params) => {
      if (is('narrow-integers') && Number.isSafeInteger(params) && Math.abs(params) >= 2 ** 32) return params | 0;
      if (is('single-precision') && typeof params === 'number' && !Number.isInteger(params)) return Math.fround(params);
      if (is('latin-text') && typeof params === 'string') return Buffer.from(params, 'latin1').toString('latin1');
      if (is('short-text') && params?.length === 256) return params.slice(0, 255);
      if (is('null-lost') && params === null) return false;
      return params;
    },
    callHost,
    produce,
    consume,
  };

  function find(name) {
    if (is('inherited-functions')) return functions[name] ?? ({}[name] && (() => 1));
    if (is('lenient-names')) return functions[name.trim()];
    return Object.hasOwn(functions, name) ? functions[name] : undefined;
  }

  async function answer({ id, functionName, params, expectsResponse }) {
    let silent = expectsResponse === false;
    if (is('silent-when-said')) silent = expectsResponse !== undefined;
    if (silent && is('skips-forgotten')) return;
    const run = find(functionName);
    const said = is('number-ids') && /^\d+$/.test(id) ? Number(id) : id;
    try {
      if (run === undefined && is('unknown-answered')) return send({ type: 1, id: said });
      if (run === undefined) throw new Error('There is no such function');
      const result = await run(params);
      if (!silent || is('answers-forgotten')) send({ type: 1, id: said, ...(result === undefined ? {} : { result }) });
    } catch (error) {
      const text = is('structured-error') ? { message: error.message } : error.message;
      if (!silent || is('errors-forgotten')) send({ type: 2, id: said, error: text });
      if (!silent && is('two-answers')) send({ type: 2, id: said, error: text });
      if (is('prints') && functionName === 'no such function' && !silent) write('error\n');
    }
  }

  function settle({ type, id, result, error }) {
    const key = is('last-callback-only') ? 'last' : id;
    const call = pending.get(key);
    pending.delete(key);
    if (is('answers-strangers') && call === undefined) send({ type: 2, id: 'stranger', error: 'who is that?' });
    if (type === 1 || is('host-error-lost')) call?.resolve(result);
    else call?.reject(new Error(error));
  }

  function stream({ type, id, chunk, error }) {
    const consumer = consumers.get(is('one-consumer') ? 'the one' : id);
    if (consumer === undefined) return;
    if (type === 3) {
      consumer.count += 1;
      consumer.sum += chunk;
      return;
    }
    consumers.delete(id);
    if (type === 4 || is('stream-error-lost')) consumer.resolve([consumer.count, consumer.sum]);
    else consumer.reject(new Error(error));
  }

  function receive(payload) {
    const message = decodeMessagePack(payload);
    if (typeof message !== 'object' || Array.isArray(message)) return;
    if (message.type === 0 || (is('any-type') && message.type > 5)) answer(message);
    else if (message.type <= 2) settle(message);
    else if (message.type <= 5) stream(message);
  }

  let deaf = false;
  let buffer = Buffer.alloc(0);
  function data(chunk) {
    if (deaf) return;
    buffer = is('one-read-one-frame') ? chunk : Buffer.concat([buffer, chunk]);
    while (buffer.length >= 5) {
      const length = buffer.readUInt32BE(1);
      if (buffer[0] !== 1 && !is('any-version')) return exit(1);
      if (buffer.length < 5 + length) break;
      const payload = buffer.subarray(5, 5 + length);
      buffer = buffer.subarray(5 + length);
      try {
        receive(payload);
      } catch {
        if (!is('hangs-on-garbage')) return exit(1);
        buffer = Buffer.alloc(0);
        deaf = true;
        return;
      }
    }
    setImmediate(flush);
  }

  return { data };
}
