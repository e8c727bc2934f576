import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ExecutionKind } from './audit/record.js';
import type { Parts } from './parts.js';

/** Seconds. From a warm guest (milliseconds) to a tool that is installed first (a minute). */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

const KINDS: readonly ExecutionKind[] = ['guest', 'wasm', 'tool', 'process'];

export interface Metrics {
  text(): Promise<string>;
  readonly contentType: string;
  /** Counts an answer. Only its class goes into a label: the set of labels must not grow with what clients send. */
  answered(status: number): void;
  dispose(): void;
}

export interface Traffic {
  readonly connections: number;
  readonly sockets: number;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly refusedConnections: number;
}

/** Makes the figures of a server, in a registry of its own. */
export function createMetrics(parts: Parts, traffic: () => Traffic): Metrics {
  const { trail, executor, shells, tools, modules } = parts;
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  const executions = new Counter({
    name: 'sallyport_executions_total',
    help: 'Executions that have ended.',
    labelNames: ['kind', 'outcome'] as const,
    registers,
  });
  const limits = new Counter({
    name: 'sallyport_limits_hit_total',
    help: 'Executions that were ended by a limit.',
    labelNames: ['kind', 'limit'] as const,
    registers,
  });
  const durations = new Histogram({
    name: 'sallyport_execution_seconds',
    help: 'From the request to the end, queues included.',
    labelNames: ['kind'] as const,
    buckets: DURATION_BUCKETS,
    registers,
  });
  const capabilities = new Counter({
    name: 'sallyport_capabilities_total',
    help: 'What executions did through the host.',
    labelNames: ['type', 'outcome'] as const,
    registers,
  });
  const answers = new Counter({
    name: 'sallyport_http_responses_total',
    help: 'Answers, by the class of their status.',
    labelNames: ['class'] as const,
    registers,
  });
  for (const kind of KINDS)
    for (const outcome of ['succeeded', 'failed', 'cancelled']) executions.inc({ kind, outcome }, 0);
  const stop = trail.onEvent((event) => {
    if (event.type === 'capability') {
      const { type, outcome } = event.capability;
      capabilities.inc({ type, outcome });
    } else if (event.type === 'ended') {
      const { kind, status, executionId, durationMs = 0 } = event.execution;
      executions.inc({ kind, outcome: status });
      durations.observe({ kind }, durationMs / 1_000);
      const limit = trail.find(executionId)?.outcome?.limit;
      if (limit !== undefined) limits.inc({ kind, limit });
    }
  });
  gauge('sallyport_executions_active', 'Executions that have not ended.', ['kind'], (set) => {
    const counts = new Map<string, number>(KINDS.map((kind) => [kind, 0]));
    for (const { kind } of trail.running) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    for (const [kind, count] of counts) set({ kind }, count);
  });
  gauge('sallyport_queue_length', 'Executions that wait for their turn.', ['queue'], (set) => {
    set({ queue: 'run' }, executor.stats().queued);
    set({ queue: 'guest' }, shells.stats().queued);
    set({ queue: 'tool' }, tools.stats().executions.waiting);
    set({ queue: 'install' }, tools.stats().installs.waiting);
    set({ queue: 'wasm' }, modules.turns.waiting);
  });
  gauge('sallyport_pool_processes', 'Processes that are kept for executions.', ['pool', 'state'], (set) => {
    for (const [pool, stats] of [
      ['run', executor.stats()],
      ['guest', shells.stats()],
    ] as const) {
      set({ pool, state: 'idle' }, stats.idle);
      set({ pool, state: 'busy' }, stats.busy);
    }
    set({ pool: 'tool', state: 'idle' }, tools.stats().children.idle);
    set({ pool: 'tool', state: 'busy' }, tools.stats().executions.running);
    set({ pool: 'wasm', state: 'idle' }, modules.spares);
    set({ pool: 'wasm', state: 'busy' }, modules.turns.taken);
  });
  gauge('sallyport_tool_cache_bytes', 'Bytes of installed packages.', [], (set) => set({}, tools.stats().cache.bytes));
  gauge('sallyport_connections', 'Open connections.', ['type'], (set) => {
    const { connections, sockets } = traffic();
    set({ type: 'http' }, connections - sockets);
    set({ type: 'websocket' }, sockets);
  });
  gauge('sallyport_network_bytes', 'Bytes over all connections so far.', ['direction'], (set) => {
    const { bytesRead, bytesWritten } = traffic();
    set({ direction: 'in' }, bytesRead);
    set({ direction: 'out' }, bytesWritten);
  });
  gauge('sallyport_connections_refused', 'Connections that were one too many, so far.', [], (set) => {
    set({}, traffic().refusedConnections);
  });

  function gauge(
    name: string,
    help: string,
    labelNames: readonly string[],
    measure: (set: (labels: Record<string, string>, value: number) => void) => void,
  ): void {
    const made = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers,
      collect: () => measure((labels, value) => made.set(labels, value)),
    });
  }

  return {
    text: () => register.metrics(),
    contentType: register.contentType,
    answered: (status) => answers.inc({ class: `${Math.floor(status / 100)}xx` }),
    dispose() {
      stop();
      register.clear();
    },
  };
}
