import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bearerOf, whenAnswered } from '../../wire/index.js';
import type { Admissions } from '../access/admissions.js';
import { type Caller, callers } from '../access/caller.js';
import { type AccessRules, judge, pathOf } from '../access/judge.js';
import type { Boundary, KeyRing } from '../access/keys.js';
import type { Quotas } from '../access/quotas.js';
import { addCors } from './cors.js';
import { type Problem, sendProblem } from './problem.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The boundary that a key must be good for. */
    boundary?: Boundary;
    /** Whether each request starts an execution, which counts. */
    starts?: true;
  }
}

const CALLERS = new WeakMap<object, Caller>();

/** Who sent a request. */
export function callerOf(request: FastifyRequest): Caller {
  return CALLERS.get(request.raw) ?? { key: undefined, address: request.ip };
}

/** What the paths of the tool boundary need, by their last part. */
const TOOL_STARTS = new Set([
  '/execute-tool',
  '/execute-async',
  '/execute-batch',
  '/validate-tool',
  '/load-and-describe',
]);

function needsOf(request: FastifyRequest): { readonly boundary?: Boundary | undefined; readonly starts: boolean } {
  const { config, url } = request.routeOptions;
  if (config.boundary !== undefined) return { boundary: config.boundary, starts: config.starts === true };
  if (request.method !== 'POST' || !TOOL_STARTS.has((url ?? '').replace(/^\/api\//, '/'))) return { starts: false };
  return { boundary: 'tool', starts: true };
}

export interface Guard {
  readonly rules: AccessRules;
  readonly keys: KeyRing;
  readonly quotas: Quotas;
  readonly admissions: Admissions;
}

/** Checks every request before its body is read, whichever path it is for. */
export function guardAll(fastify: FastifyInstance, { rules, keys, quotas, admissions }: Guard): void {
  fastify.addHook('onRequest', async (request, reply) => {
    const { raw } = request;
    reply.header('X-Content-Type-Options', 'nosniff');
    addCors(raw, reply, rules, keys);
    // Preflights carry no key, and are answered with nothing but the headers above.
    if (request.method === 'OPTIONS') return;
    const verdict = judge(raw, bearerOf(raw), rules, keys);
    if (!verdict.ok) return sendProblem(reply, verdict.problem);
    const { caller } = verdict;
    CALLERS.set(raw, caller);
    const { boundary, starts } = needsOf(request);
    const refused = (): Problem | undefined =>
      boundary === undefined ? quotas.withdrawn(caller) : quotas.forbids(caller, boundary);
    // What everybody may ask needs no key, and has none.
    const open = keys.required && caller.key === undefined;
    const problem = (open ? undefined : refused()) ?? (starts ? quotas.charge(caller) : undefined);
    if (problem !== undefined) return sendProblem(reply, problem);
    if (open) return;
    whenAnswered(raw, reply.raw, admissions.add({ refused, end: () => reply.raw.destroy() }));
  });
  // Reading a body leaves the turn that the request came in; from here on code that is not handed the caller can find it.
  fastify.addHook('preHandler', (request, _reply, done) => callers.run(callerOf(request), done));
  fastify.addHook('preHandler', async (request, reply) => {
    if (needsOf(request).boundary !== 'tool') return;
    for (const name of packagesIn(request.body)) {
      const problem = quotas.restricts(callerOf(request), 'packages', name);
      if (problem !== undefined) return sendProblem(reply, problem);
    }
  });
}

/** The packages that a request of the tool boundary names, whatever else is wrong with it. */
function* packagesIn(body: unknown): Iterable<string> {
  if (typeof body !== 'object' || body === null) return;
  const name: unknown = Reflect.get(body, 'packageName');
  if (typeof name === 'string') yield name;
  const items: unknown = Reflect.get(body, 'items');
  if (Array.isArray(items)) for (const item of items) yield* packagesIn(item);
}

/** The path of a request, for logs: without its query. */
export function loggedPath(request: FastifyRequest): string {
  return pathOf(request.raw);
}
