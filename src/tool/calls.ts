import type { Bundler } from './bundler.js';
import type { Execution } from './execution.js';
import { failure, failureFields, failureOf, type ToolFailure, ToolFailureError } from './failure.js';
import type { FairQueue } from './fair-queue.js';
import type { Freshness } from './install/resolver.js';
import type { ToolLimits } from './limits.js';
import type { ExecuteToolRequest, ExecuteToolResponse, LogLine, Timings } from './messages.js';
import { checkEnv, checkTimeout } from './request.js';
import type { RunReport } from './run/run-job.js';
import type { ToolRuns } from './tool-runs.js';
import type { Acquired, Trees } from './trees.js';

export interface CallOptions {
  /** Whose turn the call counts as. */
  readonly lane: string;
  readonly freshness: Freshness;
}

export interface CallParts {
  readonly trees: Trees;
  readonly runs: ToolRuns;
  readonly bundler: Bundler;
  readonly slots: FairQueue;
  readonly limits: ToolLimits;
}

/** What an answer says beside its outcome; filled in as the call goes. */
interface Story {
  timings: { -readonly [Field in keyof Timings]: Timings[Field] };
  acquired: Acquired | undefined;
  logs: readonly LogLine[];
  logsTruncated: boolean;
  answerBytes: number;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

function extras(execution: Execution, story: Story, started: number) {
  const { acquired, timings, logs, logsTruncated } = story;
  const tree = acquired?.lease.tree;
  return {
    executionTimeMs: Math.round(performance.now() - started),
    executionId: execution.id,
    timings: {
      resolveMs: round(timings.resolveMs),
      installMs: round(timings.installMs),
      loadMs: round(timings.loadMs),
      executeMs: round(timings.executeMs),
      queueMs: round(timings.queueMs),
    },
    ...(acquired === undefined ? {} : { cache: acquired.cache }),
    ...(tree === undefined
      ? {}
      : {
          resolved: { version: tree.version, ...(tree.integrity === undefined ? {} : { integrity: tree.integrity }) },
        }),
    ...(logs.length === 0 ? {} : { logs: [...logs] }),
    ...(logsTruncated ? { logsTruncated } : {}),
  };
}

/** Makes the answer of an execution that failed before it began. */
export function refusal(execution: Execution, failed: ToolFailure): ExecuteToolResponse {
  return { success: false, ...failureFields(failed), executionTimeMs: 0, executionId: execution.id };
}

/** Carries out executions: tree, turn, child, answer. */
export class Calls {
  readonly #parts: CallParts;

  constructor(parts: CallParts) {
    this.#parts = parts;
  }

  /** Runs a tool. Never rejects: every failure is an answer. */
  async perform(request: ExecuteToolRequest, execution: Execution, options: CallOptions): Promise<ExecuteToolResponse> {
    const { limits } = this.#parts;
    const started = performance.now();
    const story: Story = {
      timings: { resolveMs: 0, installMs: 0, loadMs: 0, executeMs: 0, queueMs: 0 },
      acquired: undefined,
      logs: [],
      logsTruncated: false,
      answerBytes: 0,
    };
    const { packageName, version, name } = request;
    execution.start({ packageName, version, name });
    const total = setTimeout(() => {
      const message = `The request did not finish within ${limits.maxTotalTimeMs} ms`;
      execution.abort(
        failure(
          'EXECUTION_TIMEOUT',
          message,
          { phase: 'total', timeoutMs: limits.maxTotalTimeMs, timedOut: true },
          { retryable: true },
        ),
      );
    }, limits.maxTotalTimeMs);
    let response: ExecuteToolResponse;
    try {
      const output = await this.#run(request, execution, options, story);
      response = { success: true, output: output ?? null, ...extras(execution, story, started) };
    } catch (error) {
      response = { success: false, ...failureFields(failureOf(error)), ...extras(execution, story, started) };
    } finally {
      clearTimeout(total);
      story.acquired?.lease[Symbol.dispose]();
    }
    const logChars = story.logs.reduce((sum, { text }) => sum + text.length, 0);
    execution.finish(response, story.answerBytes + logChars);
    return response;
  }

  async #run(request: ExecuteToolRequest, execution: Execution, options: CallOptions, story: Story): Promise<unknown> {
    const { trees, runs, bundler, slots, limits } = this.#parts;
    checkEnv(request.env, limits);
    const timeoutMs = checkTimeout(request.timeoutMs, limits);
    const { events, signal } = execution;
    const phase = (name: string, ms: number, more: object = {}): void =>
      events.append('phase', { name, ms: round(ms), ...more });
    story.acquired = await trees.acquire(request, {
      signal,
      lane: options.lane,
      freshness: options.freshness,
      onPhase: (name, cache, ms) => phase(name, ms, { cache }),
      onProgress: (name, packages) => {
        events.append('phase', { name, state: 'started', ...(packages === undefined ? {} : { packages }) });
      },
    });
    story.timings.resolveMs = story.acquired.resolveMs;
    story.timings.installMs = story.acquired.installMs;
    const queuedAt = performance.now();
    const slot = await slots.acquire(options.lane, signal);
    story.timings.queueMs = performance.now() - queuedAt;
    let report: RunReport;
    try {
      report = await runs.runBest(
        story.acquired.lease.tree,
        bundler,
        { mode: 'execute', name: request.name, params: request.params, env: request.env, toolCallId: execution.id },
        {
          timeoutMs,
          signal,
          onLoaded: (ms) => phase('load', ms, { cache: story.acquired?.cache ?? 'miss' }),
          onLog: (line) => events.append('log', line),
          onPreliminary: (output) => events.append('preliminary', { output }),
          onNetworkDecision: (decision) => execution.onNetworkDecision?.(decision),
        },
      );
    } finally {
      slot.release();
    }
    story.timings.loadMs = report.loadMs;
    story.timings.executeMs = report.executeMs;
    story.logs = report.logs;
    story.logsTruncated = report.logsTruncated;
    story.answerBytes = report.answerBytes;
    if (report.phase === 'execute') phase('execute', report.executeMs);
    const { result } = report;
    if (result.kind === 'output') return result.output;
    if (result.kind === 'failed') throw new ToolFailureError(result.failure);
    throw new Error('the child answered another question');
  }
}
