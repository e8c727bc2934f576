// A TPMJS executor with switches: without one it does what the suite asks for, with `--flaw NAME` it makes one mistake, or
// several with `NAME,NAME`.
import { createServer } from 'node:http';
import { Failure } from './failure.mjs';
import { install } from './install.mjs';
import { requestOf } from './request.mjs';
import { run } from './run.mjs';

const flaw = process.argv.at(process.argv.indexOf('--flaw') + 1);
const registry = process.argv.at(process.argv.indexOf('--registry') + 1);
const is = (name) => flaw.split(',').includes(name);
const KEY = process.env.EXECUTOR_API_KEY;
const MAX_BODY_BYTES = 1_000_000;
const MAX_TIME_MS = 60_000;

const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-allow-headers': is('no-version-header')
    ? 'Content-Type, Authorization'
    : 'Content-Type, Authorization, X-TPMJS-Protocol-Version',
};

const health = () => ({
  status: is('status-healthy') ? 'healthy' : 'ok',
  ...(is('no-protocol-version') ? {} : { protocolVersion: '1.0' }),
  implementationVersion: '1.0.0',
  timestamp: is('seconds') ? 1_700_000_000 : new Date().toISOString(),
});

const info = () => ({
  name: 'Flawed',
  version: '1.0.0',
  protocolVersion: is('two-versions') ? '1.1' : '1.0',
  capabilities: {
    isolation: is('sandboxed') ? 'sandbox' : 'process',
    executionModes: ['sync'],
    ...(is('no-time-limit') ? {} : { maxExecutionTimeMs: is('half-a-minute') ? 30_000 : MAX_TIME_MS }),
    maxRequestBodyBytes: MAX_BODY_BYTES,
    supportsStreaming: false,
  },
  runtime: { platform: process.platform },
});

async function execute(text) {
  const began = performance.now();
  const time = () => (is('no-time') ? {} : { executionTimeMs: Math.round(performance.now() - began) });
  const { packageName, version, name, params, env, timeoutMs = MAX_TIME_MS } = requestOf(text, is);
  try {
    if (is('blocks') && name === 'busy') for (const end = Date.now() + params.ms; Date.now() < end; );
    const folder = await install(registry, packageName, is('no-versions') ? undefined : version, is);
    const output = await run({ folder, name, params: params ?? {}, env, timeoutMs, flaw });
    return [200, { success: true, output, ...time() }];
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const status = is('tool-errors-500') && error.code === 'TOOL_EXECUTION_ERROR' ? 500 : 200;
    const missing = is('missing-404') && error.code === 'PACKAGE_NOT_FOUND' ? 404 : status;
    return [missing, { success: false, error: { code: error.code, message: error.message }, ...time() }];
  }
}

function authorize({ headers }) {
  if (KEY === undefined) return;
  if (is('key-if-given') && headers.authorization === undefined) return;
  const { authorization = '' } = headers;
  if (authorization === `Bearer ${KEY}` || (is('any-key') && authorization.startsWith('Bearer w'))) return;
  throw new Failure('UNAUTHORIZED', 'Invalid or missing API key', is('key-403') ? 403 : 401);
}

async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES && !is('any-size')) throw new Failure('PAYLOAD_TOO_LARGE', 'too large', 413);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

async function answer(request) {
  const path = is('no-api-routes') ? request.url : request.url.replace(/^\/api\//, '/');
  const known = ['/health', '/info', '/execute-tool'].includes(path);
  if (request.method === 'OPTIONS' && is('preflight-needs-key')) authorize(request);
  if (request.method === 'OPTIONS' && known) return [is('preflight-204') ? 204 : 200, {}];
  if (request.method === 'GET' && path === '/health') return [200, health()];
  if (request.method === 'GET' && path === '/info') return [200, info()];
  if (is('body-first') && request.method === 'POST' && path === '/execute-tool') {
    const text = await bodyOf(request);
    requestOf(text, is);
    authorize(request);
    return execute(text);
  }
  authorize(request);
  if (request.method === 'POST' && path === '/execute-tool') return execute(await bodyOf(request));
  throw new Failure('NOT_FOUND', `there is nothing at ${path}`, 404);
}

const server = createServer(async (request, response) => {
  let [status, body] = [500, {}];
  try {
    [status, body] = await answer(request);
  } catch (error) {
    const { code = 'INTERNAL_ERROR', message } = error;
    status = error instanceof Failure ? error.status : 500;
    body = is('bare-errors') ? { error: message } : { success: false, error: { code, message } };
  }
  if (!(is('no-cors-on-errors') && status >= 400))
    for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
