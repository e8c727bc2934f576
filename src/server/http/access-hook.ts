import type { FastifyInstance, FastifyRequest } from 'fastify';
import { bearerOf, whenAnswered } from '../../wire/index.js';
import type { Admissions } from '../access/admissions.js';
import { admitBatch } from '../access/batches.js';
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

const BATCH = '/execute-batch';

/** What the paths of the tool boundary need, by their last part. */
const TOOL_STARTS = new Set(['/execute-tool', '/execute-async', BATCH, '/validate-tool', '/load-and-describe']);

/** The path of a route of the tool boundary, which is served at two places. */
function toolPathOf(request: FastifyRequest): string {
  return (request.routeOptions.url ?? '').replace(/^\/api\//, '/');
}

function needsOf(request: FastifyRequest): { readonly boundary?: Boundary | undefined; readonly starts: boolean } {
  const { config } = request.routeOptions;
  if (config.boundary !== undefined) return { boundary: config.boundary, starts: config.starts === true };
  if (request.method !== 'POST' || !TOOL_STARTS.has(toolPathOf(request))) return { starts: false };
  return { boundary: 'tool', starts: true };
}

export interface Guard {
  readonly rules: AccessRules;
  readonly keys: KeyRing;
  readonly quotas: Quotas;
  readonly admissions: Admissions;
  /** How many items of one batch run at once, at most. */
  readonly batchWidth: number;
}

/** Checks every request before its body is read, whichever path it is for. */
export function guardAll(fastify: FastifyInstance, { rules, keys, quotas, admissions, batchWidth }: Guard): void {
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
    const problem = (open ? undefined : refused()) ?? (starts ? quotas.refuses(caller) : undefined);
    if (problem !== undefined) return sendProblem(reply, problem);
    if (open) return;
    whenAnswered(raw, reply.raw, admissions.add({ refused, end: () => reply.raw.destroy() }));
  });
  // Reading a body leaves the turn that the request came in; from here on code that is not handed the caller can find it.
  fastify.addHook('preHandler', (request, _reply, done) => callers.run(callerOf(request), done));
  // Not async: the handler opens its record in the same turn, so that the next request finds this one counted.
  fastify.addHook('preHandler', (request, reply, done) => {
    const { boundary, starts } = needsOf(request);
    const caller = callerOf(request);
    const restricted = boundary === 'tool' ? restrictedPackage(request.body, caller, quotas) : undefined;
    if (restricted !== undefined) return void sendProblem(reply, restricted);
    if (!starts) return done();
    if (toolPathOf(request) !== BATCH) {
      const problem = quotas.charge(caller);
      return problem === undefined ? done() : void sendProblem(reply, problem);
    }
    const admitted = admitBatch(request.body, caller, quotas, batchWidth);
    if (admitted.problem !== undefined) return void sendProblem(reply, admitted.problem);
    whenAnswered(request.raw, reply.raw, admitted.release);
    done();
  });
}

function restrictedPackage(body: unknown, caller: Caller, quotas: Quotas): Problem | undefined {
  for (const name of packagesIn(body)) {
    const problem = quotas.restricts(caller, 'packages', name);
    if (problem !== undefined) return problem;
  }
  return undefined;
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
