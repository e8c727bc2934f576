// Valid requests of the tool protocol, what must come of them, and ways to spoil them.
import { pieceSizes } from '../cut.mjs';
import { mutateBytes } from '../mutate-bytes.mjs';
import { mutateFields, mutateText } from '../mutate-json.mjs';

/** The one package of the registry: a tool for each way a call can end. */
export const SOURCE = `
export const echo = { description: 'says it back', inputSchema: { type: 'object' }, execute: async (params) => params };
export const fail = { execute: async () => { throw new Error('it failed') } };
export const hang = { execute: () => new Promise(() => setInterval(() => {}, 1000)) };
export const leave = { execute: () => process.exit(0) };
export const noise = { execute: () => { console.log('{"success":true}'); console.error('x'.repeat(1000)); return 1; } };
export const numbers = { execute: async function* () { yield 1; yield 2; } };
export const value = 7;
`;
export const PACKAGE = 'fuzz-tool';

const tool = (name, more = {}) => ({ packageName: PACKAGE, name, ...more });
const VALUES = [
  {},
  { a: 1 },
  { a: [null, 'é', { b: true }] },
  JSON.parse('{"__proto__":{"x":1}}'),
  { text: 'x'.repeat(3_000) },
];

/** Picks a request and what must come of it: a status, and parts of the answer. */
function valid(random) {
  const params = random.pick(VALUES);
  const output = (value) => ({ status: 200, answer: { success: true, output: value } });
  const code = (text, status = 200) => ({ status, code: text });
  const get = (path, expect) => ({ method: 'GET', path, expect });
  const post = (path, body, expect, headers = {}) => ({ method: 'POST', path, body, expect, headers });
  const run = (body, expect) => post(random.pick(['/execute-tool', '/api/execute-tool']), body, expect);
  const choices = [
    () => get(random.pick(['/health', '/api/health', '/info']), { status: 200 }),
    () => get('/executions/none', code('NOT_FOUND', 404)),
    () => get('/nowhere', code('NOT_FOUND', 404)),
    () => ({ method: 'OPTIONS', path: '/execute-tool', expect: { status: 200 } }),
    () => ({ method: 'HEAD', path: '/health', expect: { status: 200 } }),
    () => ({ method: 'DELETE', path: '/execute-tool', expect: code('NOT_FOUND', 404) }),
    () => run(tool('echo', { params }), output(params)),
    () => run(tool('echo', { params, version: '1.0.0', env: { A: 'b' } }), output(params)),
    () => run(tool('fail'), code('TOOL_EXECUTION_ERROR')),
    () => run(tool('leave'), code('TOOL_EXECUTION_ERROR')),
    () => run(tool('noise'), output(1)),
    () => run(tool('numbers'), output(2)),
    () => run(tool('hang', { timeoutMs: 100 }), code('EXECUTION_TIMEOUT')),
    () => run(tool('absent'), code('TOOL_NOT_FOUND')),
    () => run(tool('value'), code('TOOL_INVALID')),
    () => run({ packageName: 'no-such-package', name: 'x' }, code('PACKAGE_NOT_FOUND')),
    () => run(tool('echo', { env: { NODE_OPTIONS: '--require x' } }), code('INVALID_REQUEST', 400)),
    () =>
      post('/execute-tool', tool('echo', { params }), { status: 200, events: true }, { accept: 'text/event-stream' }),
    () => post('/validate-tool', tool('echo', { params }), { status: 200 }),
    () => post('/load-and-describe', tool('echo'), { status: 200 }),
    () =>
      post('/execute-batch', { items: [tool('echo', { params }), tool('fail')], mode: 'parallel' }, { status: 200 }),
    () => post('/execute-async', tool('echo', { params }), { status: 202 }),
    () => post('/run', { code: '40 + 2' }, { status: 200, answer: { ok: true, result: 42 } }),
    () => post('/wasm/guest/add', [20, 22], { status: 200, answer: { ok: true, result: 42 } }),
  ];
  return random.pick(choices)();
}

/** Makes one connection: a few requests, some of them spoiled, in pieces, with an end. */
export function connectionCase(random) {
  const requests = [];
  for (let left = 1 + random.below(3); left > 0; left -= 1) requests.push(request(random));
  // Nothing that comes after bytes that are no request can be told apart.
  const raw = requests.findIndex(({ kind }) => kind === 'raw');
  return {
    requests: raw === -1 ? requests : requests.slice(0, raw + 1),
    // A parser that gives up does not wait for the answers to what came before.
    pipelined: random.oneIn(4) && raw === -1,
    leaveAfter: random.oneIn(10) ? random.below(400) : undefined,
  };
}

function request(random) {
  const made = valid(random);
  const { method, expect } = made;
  const pieces = random.oneIn(4) ? pieceSizes(random) : undefined;
  if (made.body === undefined || random.oneIn(2)) {
    const bytes = written(random, made, made.body === undefined ? undefined : JSON.stringify(made.body));
    if (random.oneIn(6)) return { kind: 'raw', method, bytes: mutateBytes(random, bytes), pieces };
    return { kind: 'valid', method, bytes, pieces, expect };
  }
  const body = random.oneIn(3)
    ? mutateText(random, JSON.stringify(made.body))
    : (JSON.stringify(mutateFields(random, made.body)) ?? '');
  return { kind: 'fields', method, bytes: written(random, made, body), pieces };
}

/** Writes a request: with a length, or in chunks. */
function written(random, { method, path, headers = {} }, body) {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'X-TPMJS-Protocol-Version: 1.0'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body === undefined) return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
  lines.push('Content-Type: application/json');
  const bytes = Buffer.from(body);
  if (!random.oneIn(4)) {
    return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\nContent-Length: ${bytes.length}\r\n\r\n`), bytes]);
  }
  const half = random.below(bytes.length + 1);
  const chunks = [bytes.subarray(0, half), bytes.subarray(half)].filter(({ length }) => length > 0);
  return Buffer.concat([
    Buffer.from(`${lines.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n`),
    ...chunks.flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ]);
}
