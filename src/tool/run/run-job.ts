import { randomBytes } from 'node:crypto';
import type { ExitStatus, ProxyDecision } from '../../sandbox/index.js';
import { decodeJson } from '../../wire/index.js';
import { type ChildJob, type FromChild, SECRET_BYTES, type ToolDescription } from '../child/protocol.js';
import { failureOf, type ToolFailure } from '../failure.js';
import type { LogLine } from '../messages.js';
import { readFromChild } from './child-messages.js';
import type { IdleChild } from './child-pool.js';
import { FrameReader, frameTo } from './frames.js';
import { Logs } from './logs.js';

/** Room for the frame around an output. */
const FRAME_MARGIN_BYTES = 64 * 1024;
/** Values that a result may hold: about what 10 MiB of JSON can. */
const MAX_RESULT_VALUES = 5_000_000;
/** How long what a tool printed may take to arrive once its process is gone: somebody it left behind may print for ever. */
const DRAIN_MS = 2_000;

const patience = (): Promise<void> =>
  new Promise((wake) => {
    setTimeout(wake, DRAIN_MS).unref();
  });

export type RunResult =
  | { readonly kind: 'output'; readonly output: unknown }
  | { readonly kind: 'described'; readonly tool: ToolDescription }
  | { readonly kind: 'inspected'; readonly shape: string }
  | { readonly kind: 'failed'; readonly failure: ToolFailure };

export interface RunReport {
  readonly result: RunResult;
  readonly loadMs: number;
  readonly executeMs: number;
  readonly logs: readonly LogLine[];
  readonly logsTruncated: boolean;
  /** Bytes of the answer as it came. */
  readonly answerBytes: number;
  /** How far it came. */
  readonly phase: 'import' | 'execute';
}

export interface RunOptions {
  readonly timeoutMs: number;
  readonly abortLeadMs: number;
  readonly maxLogBytes: number;
  readonly signal: AbortSignal | undefined;
  readonly onLoaded?: (ms: number) => void;
  readonly onLog?: (line: LogLine) => void;
  readonly onPreliminary?: (output: unknown) => void;
  readonly onNetworkDecision?: (decision: ProxyDecision) => void;
}

function exitWords(
  { exitCode, signal, limit }: Pick<ExitStatus, 'exitCode' | 'signal' | 'limit'>,
  phase: 'import' | 'execute',
  crash: string | undefined,
): ToolFailure {
  const where = phase === 'import' ? 'while the package was imported' : 'before there was a result';
  const how =
    signal !== null
      ? `The process was ended by ${signal} ${where}`
      : exitCode === 0
        ? `The process exited with code 0 ${where}: it called process.exit(), or waited for something that can never happen`
        : `The process exited with code ${exitCode} ${where}`;
  const why = limit === undefined ? crash : `its limit of ${limit} was reached`;
  return {
    code: 'TOOL_EXECUTION_ERROR',
    message: why === undefined ? how : `${how}: ${why}`,
    details: { phase, exitCode, signal, ...(limit === undefined ? {} : { limit }) },
  };
}

/**
 * Runs one job in one child, and ends the child.
 *
 *     job sent ──loaded──▶ executing ──result──▶ done
 *        └── exit, forged frame, time is up, caller gone ──▶ failed
 *
 * Which of these it was is decided here, on this side, from what the kernel says. Resolves when nothing of the child is left.
 */
export async function runJob(child: IdleChild, job: ChildJob, options: RunOptions): Promise<RunReport> {
  try {
    return await runIn(child, job, options);
  } finally {
    // Whatever happened here, nobody else would end it.
    await child[Symbol.asyncDispose]();
  }
}

async function runIn(child: IdleChild, job: ChildJob, options: RunOptions): Promise<RunReport> {
  const { process: spawned } = child;
  const [results, jobs] = spawned.extraPipes;
  if (results === undefined || jobs === undefined) throw new Error('the child has no pipes for its job');
  child.onNetworkDecision = options.onNetworkDecision;
  const logs = new Logs(options.maxLogBytes, options.onLog ?? (() => {}));
  for (const output of spawned.outputs) logs.follow(output);
  const secret = randomBytes(SECRET_BYTES);
  const order = Buffer.concat([secret, frameTo({ type: 'job', job })]);
  const reader = new FrameReader(secret, job.maxOutputBytes + FRAME_MARGIN_BYTES);
  const started = performance.now();
  let loadedAt: number | undefined;
  let crash: string | undefined;
  let answerBytes = 0;
  let settled = false;
  const timers: NodeJS.Timeout[] = [];
  const phase = (): 'import' | 'execute' => (loadedAt === undefined ? 'import' : 'execute');

  const result = await new Promise<RunResult>((resolve) => {
    const settle = (value: RunResult): void => {
      settled = true;
      // The signal is kept for as long as the events of the execution are; the child must not be.
      options.signal?.removeEventListener('abort', cancelled);
      // Whatever a tool still brings home after its caller left, the call was cancelled.
      resolve(options.signal?.aborted ? { kind: 'failed', failure: failureOf(options.signal.reason) } : value);
    };
    const fail = (failed: ToolFailure): void => settle({ kind: 'failed', failure: failed });
    const abort = (reason: string): void => {
      if (!settled) void jobs.input.write(frameTo({ type: 'abort', reason })).catch(() => {});
    };
    const cancelled = (): void => {
      abort('the call was cancelled');
      timers.push(
        setTimeout(() => fail(failureOf(options.signal?.reason)), Math.min(options.abortLeadMs, options.timeoutMs)),
      );
    };
    const hear = (message: FromChild): void => {
      if (settled) return;
      switch (message.type) {
        case 'loaded':
          if (loadedAt !== undefined) return;
          loadedAt = performance.now();
          options.onLoaded?.(loadedAt - started);
          return;
        case 'preliminary':
          options.onPreliminary?.(message.output);
          return;
        case 'crash':
          crash = message.message;
          return;
        case 'result':
          settle({ kind: 'output', output: message.output });
          return;
        case 'described':
          settle({ kind: 'described', tool: message.tool });
          return;
        case 'inspected':
          settle({ kind: 'inspected', shape: message.shape });
          return;
        case 'error': {
          const { code, message: text, errorName } = message;
          const details = { phase: message.phase, ...(errorName === undefined ? {} : { errorName }) };
          fail({ code, message: text, details });
        }
      }
    };
    results.output.onData((chunk) => {
      if (settled) return;
      const bodies = reader.push(chunk);
      if (bodies === 'forged') {
        fail({
          code: 'TOOL_EXECUTION_ERROR',
          message: 'The tool wrote to the channel of the executor',
          details: { phase: phase() },
        });
        return;
      }
      for (const body of bodies) {
        try {
          const budget = { bytes: body.length, depth: job.maxOutputDepth + 8, values: MAX_RESULT_VALUES };
          const message = readFromChild(decodeJson(body, budget), job.mode);
          if (!settled) answerBytes = body.length;
          hear(message);
        } catch {
          fail({
            code: 'TOOL_EXECUTION_ERROR',
            message: 'The result of the tool cannot be read',
            details: { phase: 'output' },
          });
        }
      }
    });
    void spawned.exited.then(async (exit) => {
      // A result that was written right before the exit is still on its way. No clock decides here: a machine that is busy
      // elsewhere would turn a result into a failure. Whoever else writes to the pipe is found out, so it ends.
      await results.output.drained();
      fail(exitWords(exit, phase(), crash));
    });
    const lead = Math.max(0, Math.max(options.timeoutMs - options.abortLeadMs, options.timeoutMs / 2));
    timers.push(setTimeout(() => abort(`the time limit of ${options.timeoutMs} ms is nearly reached`), lead));
    timers.push(
      setTimeout(() => {
        fail({
          code: 'EXECUTION_TIMEOUT',
          message: `The tool did not finish within ${options.timeoutMs} ms`,
          details: { phase: phase(), timeoutMs: options.timeoutMs, timedOut: true },
        });
      }, options.timeoutMs),
    );
    if (options.signal?.aborted) cancelled();
    else options.signal?.addEventListener('abort', cancelled, { once: true });
    void jobs.input.write(order).catch(() => {
      // The exit says why.
    });
  });
  const ended = performance.now();
  for (const timer of timers) clearTimeout(timer);
  spawned.kill('SIGKILL');
  await spawned.exited;
  // What it printed before its result is still in the pipes.
  await Promise.race([spawned.drained, patience()]);
  return {
    result,
    loadMs: (loadedAt ?? ended) - started,
    executeMs: loadedAt === undefined ? 0 : ended - loadedAt,
    logs: logs.lines,
    logsTruncated: logs.truncated,
    answerBytes,
    phase: phase(),
  };
}
