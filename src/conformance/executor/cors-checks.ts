import type { Check } from '../check.js';
import { expectThat } from '../expect.js';
import type { HttpAnswer } from '../target/http.js';
import { MISSING } from './registry/packages.js';
import type { ExecutorSession } from './session.js';

const group = 'Core';

function header({ headers }: HttpAnswer, name: string): string {
  return String(headers[`access-control-allow-${name}`] ?? '');
}

function expectOrigin(answer: HttpAnswer): void {
  const origin = header(answer, 'origin');
  expectThat(origin === '*', 'Access-Control-Allow-Origin: *', origin === '' ? 'none' : origin);
}

function expectListed(answer: HttpAnswer, name: 'methods' | 'headers', wanted: readonly string[]): void {
  const listed = new Set(
    header(answer, name)
      .toLowerCase()
      .split(/\s*,\s*/),
  );
  const missing = wanted.filter((one) => !listed.has(one.toLowerCase()));
  expectThat(missing.length === 0, `Access-Control-Allow-${name} with ${wanted.join(', ')}`, header(answer, name));
}

function preflight(path: string, name: string): Check<ExecutorSession> {
  return {
    id: `executor.cors.preflight-${name}`,
    title: `OPTIONS ${path} answers 200 with the CORS headers, without a key`,
    level: 'MUST',
    group,
    cites: ['tpmjs.cors.preflight', 'tpmjs.cors.methods', 'tpmjs.cors.headers', 'tpmjs.cors.origin'],
    async run(session) {
      const answer = await session.preflight(path);
      expectThat(answer.status === 200, 'status 200', answer.status);
      expectOrigin(answer);
      expectListed(answer, 'methods', ['GET', 'POST', 'OPTIONS']);
      expectListed(answer, 'headers', ['Content-Type', 'Authorization', 'X-TPMJS-Protocol-Version']);
    },
  };
}

/** What browsers need. */
export const CORS_CHECKS: readonly Check<ExecutorSession>[] = [
  preflight('/health', 'health'),
  preflight('/execute-tool', 'execute'),
  {
    id: 'executor.cors.health',
    title: 'GET /health has the CORS headers',
    level: 'MUST',
    group,
    cites: ['tpmjs.cors.support', 'tpmjs.cors.origin'],
    run: async (session) => expectOrigin(await session.get('/health')),
  },
  {
    id: 'executor.cors.execute',
    title: 'POST /execute-tool has the CORS headers when the execution fails',
    level: 'MUST',
    group,
    cites: ['tpmjs.cors.support', 'tpmjs.cors.origin'],
    run: async (session) => expectOrigin(await session.post({ packageName: MISSING, name: 'echo' })),
  },
  {
    id: 'executor.cors.bad-request',
    title: 'A 400 has the CORS headers',
    level: 'MUST',
    group,
    cites: ['tpmjs.cors.support', 'tpmjs.cors.origin'],
    run: async (session) => expectOrigin(await session.post({})),
  },
  {
    id: 'executor.cors.not-found',
    title: 'A 404 has the CORS headers',
    level: 'MUST',
    group,
    cites: ['tpmjs.cors.support', 'tpmjs.cors.origin'],
    run: async (session) => expectOrigin(await session.get('/no-such-endpoint')),
  },
];
