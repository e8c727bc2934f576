import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isSallyportError } from '../../errors/index.js';
import { CALL_TIMEOUT_MS, type Sink } from '../../wasm/index.js';
import { acceptsEvents, clientPresence } from '../../wire/index.js';
import type { AuditedExecution } from '../audit/execution.js';
import type { Outcome } from '../audit/record.js';
import { callerOf } from '../http/access-hook.js';
import { type EventStream, openEventStream } from '../http/event-stream.js';
import { invalidRequest, ProblemError } from '../http/problem.js';
import type { Parts } from '../parts.js';
import { type CallParams, readParams, toJson } from '../wasm/json-values.js';

const MAX_TIMEOUT_MS = 3_600_000;
const MAX_FUNCTION_CHARS = 256;

function text(from: unknown, name: string): string {
  const value = typeof from === 'object' && from !== null ? Reflect.get(from, name) : undefined;
  return typeof value === 'string' ? value : '';
}

function timeoutOf(request: FastifyRequest): number {
  const asked = text(request.query, 'timeoutMs');
  if (asked === '') return CALL_TIMEOUT_MS;
  const value = Number(asked);
  if (!/^\d+$/.test(asked) || value < 1 || value > MAX_TIMEOUT_MS) {
    throw invalidRequest(`timeoutMs must be a whole number from 1 to ${MAX_TIMEOUT_MS}`, 'timeoutMs');
  }
  return value;
}

function paramsOf(body: unknown): CallParams {
  try {
    return readParams(body);
  } catch (error) {
    throw invalidRequest(error instanceof Error ? error.message : String(error), '');
  }
}

function outcomeOf(error: unknown, signal: AbortSignal): Outcome {
  const message = error instanceof Error ? error.message : String(error);
  if (signal.aborted) return { status: 'cancelled', code: 'WASM_CALL_ABORTED', message };
  const code = isSallyportError(error) ? error.code : 'INTERNAL_ERROR';
  const limit = code === 'WASM_TIMEOUT' || code === 'WASM_START_TIMEOUT' ? ({ limit: 'time' } as const) : {};
  return { status: 'failed', code, message, ...limit };
}

/** `POST /wasm/<module>/<function>`: JSON params in, JSON result out, a guest of its own for each call. */
export function wasmRoutes(fastify: FastifyInstance, parts: Parts): void {
  const { modules, trail, limits, isolation, quotas } = parts;
  fastify.get('/wasm', { config: { boundary: 'wasm' } }, () => ({ modules: modules.names }));
  fastify.post('/wasm/:module/:function', { config: { boundary: 'wasm', starts: true } }, async (request, reply) => {
    const module = text(request.params, 'module');
    const name = text(request.params, 'function');
    if (!modules.has(module)) {
      const message = `there is no module ${JSON.stringify(module.slice(0, 100))}; GET /wasm lists them`;
      throw new ProblemError({ status: 404, code: 'NOT_FOUND', message });
    }
    const restricted = quotas.restricts(callerOf(request), 'modules', module);
    if (restricted !== undefined) throw new ProblemError(restricted);
    if (name.length > MAX_FUNCTION_CHARS) throw invalidRequest('the name of the function is too long', 'function');
    const timeoutMs = timeoutOf(request);
    const call = paramsOf(request.body);
    if (modules.turns.full) {
      const message = `${modules.turns.waiting} calls wait already`;
      throw new ProblemError({ status: 503, code: 'OVERLOADED', message, details: { retryAfterSeconds: 1 } });
    }
    const cancelled = new AbortController();
    const signal = AbortSignal.any([clientPresence(request.raw, reply.raw), cancelled.signal]);
    const execution = trail.open(
      {
        kind: 'wasm',
        via: 'POST /wasm',
        label: `${module}/${name}`,
        isolation: isolation.levels.wasm,
        limits: { timeoutMs },
        cancel: () => cancelled.abort(),
      },
      callerOf(request),
    );
    const stream = acceptsEvents(request.headers.accept) ? openEventStream(reply, limits) : undefined;
    const answer = await perform(parts, { module, name, call, timeoutMs, signal, execution, stream });
    if (stream === undefined) return reply.send(answer);
    stream.send('result', answer);
    stream.end();
    return reply;
  });
}

interface Call {
  readonly module: string;
  readonly name: string;
  readonly call: CallParams;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly execution: AuditedExecution;
  readonly stream: EventStream | undefined;
}

/** Makes the call and returns the answer. Never rejects: every failure is an answer, and the trail has it before the caller does. */
async function perform({ modules, limits }: Parts, asked: Call): Promise<unknown> {
  const { module, name, call, timeoutMs, signal, execution, stream } = asked;
  try {
    const place = await modules.turns.take(signal);
    const guest = await modules.take(module, execution).catch((error: unknown) => {
      place[Symbol.dispose]();
      throw error;
    });
    execution.started();
    try {
      const collected = [...call.sinks].map(([sinkName, sink]) =>
        stream === undefined ? collect(sinkName, sink, limits.collectedBytes) : forward(sinkName, sink, stream),
      );
      // When the call itself fails, its error is the one that counts.
      for (const stream of collected) stream.catch(() => {});
      const result = await guest.client.call[name]!(call.params, { timeoutMs, signal });
      const streams = Object.fromEntries(await whileWanted(Promise.all(collected), signal));
      execution.ended({ status: 'succeeded', code: 'ok' });
      return {
        executionId: execution.id,
        ok: true,
        result: toJson(result),
        ...(stream === undefined && call.sinks.size > 0 ? { streams } : {}),
      };
    } finally {
      modules.prepare(module);
      // Its place is free only when it is gone; the caller need not wait for that.
      void guest.client.dispose().finally(() => place[Symbol.dispose]());
    }
  } catch (error) {
    const outcome = outcomeOf(error, signal);
    execution.ended(outcome);
    const { code, message } = outcome;
    return { executionId: execution.id, ok: false, error: { code, message } };
  }
}

/** Streams may go on after the answer of the guest, but not without somebody who wants them. */
function whileWanted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(new Error('the call was aborted'));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject);
  });
}

async function collect(name: string, sink: Sink, maxBytes: number): Promise<[string, unknown[]]> {
  const chunks: unknown[] = [];
  let bytes = 0;
  for await (const chunk of sink) {
    const value = toJson(chunk);
    bytes += JSON.stringify(value).length;
    if (bytes > maxBytes) throw new Error(`the stream ${name} has more than ${maxBytes} bytes: read it as events`);
    chunks.push(value);
  }
  return [name, chunks];
}

/** Sends chunks as they come, as fast as they are read. */
async function forward(name: string, sink: Sink, stream: EventStream): Promise<[string, null]> {
  for await (const chunk of sink) {
    stream.send('chunk', { stream: name, chunk: toJson(chunk) });
    await stream.drained();
  }
  stream.send('end', { stream: name });
  return [name, null];
}
