import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { ProviderManifest, ToolOutcome } from '../../capabilities/index.js';
import { type CloseReason, checkTransportSafe, printable, type Transport } from '../../wire/index.js';
import { KILL_GRACE_MS, MAX_RUNNER_ERROR_CHARS, START_TIMEOUT_MS } from '../limits.js';
import {
  type DoneMessage,
  type ExecuteError,
  type ExecuteResult,
  type ExecutorRuntimeOptions,
  type HostMessage,
  parseRunnerMessage,
  type ToolCallMessage,
} from '../messages.js';
import { TIMED_OUT } from '../runner/execution.js';
import { LogBook } from '../runner/log-book.js';
import { CallLedger } from './call-ledger.js';
import type { ExecutionEvent } from './events.js';

/** Answers one tool call. Must not reject. */
export type Dispatch = (call: ToolCallMessage, signal: AbortSignal) => Promise<ToolOutcome>;

export interface SessionRequest {
  readonly transport: Transport<unknown, HostMessage>;
  readonly code: string;
  readonly manifests: readonly ProviderManifest[];
  readonly options: ExecutorRuntimeOptions;
  readonly dispatch: Dispatch;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ExecutionEvent) => void;
  /** Reaches a guest that is too busy to read its messages. */
  readonly interrupt?: () => void;
  /** How long the runner may take to answer `execute` with `started`. */
  readonly startTimeoutMs?: number;
  /** How long it may take to end after a cancel, or after its own time limit. */
  readonly cancelGraceMs?: number;
  /** Receives a way to cancel that needs no signal. */
  readonly onHandle?: (handle: { cancel(): void }) => void;
  /** Chosen when absent. */
  readonly executionId?: string;
}

type Outcome = { ok: true; result?: unknown } | { ok: false; error: ExecuteError };

export interface SessionEnd {
  readonly result: ExecuteResult;
  /** False when the runner broke the protocol, went silent or went away: it must not be used again. */
  readonly reusable: boolean;
}

/**
 * The host's side of one execution, with anyone's runner. Never rejects.
 *
 *     starting ──started──▶ running ──done──▶ ended
 *        │                     ├──abort, or the runner's time limit and a grace──▶ cancelling ──done or grace──▶ ended (timeout)
 *        └──────────┴──close, violation, silence──▶ ended (internal_error), not reusable
 *
 * The runner is less trusted: its duration, logs, codes and results are checked, and no call is run twice.
 */
export function driveSession(request: SessionRequest): Promise<SessionEnd> {
  return new Promise((resolve) => new HostSession(request, resolve).start());
}

/** A signal that many tools may listen to. */
function manyListeners(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

class HostSession {
  readonly #request: SessionRequest;
  readonly #settle: (end: SessionEnd) => void;
  readonly #id: string;
  /** Made with the first tool call: most executions need none. */
  #abort: AbortController | undefined;
  readonly #calls = new CallLedger();
  readonly #streamed: LogBook;
  readonly #unsubscribe: (() => void)[] = [];
  readonly #began = performance.now();
  #startedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #cancelled = false;
  #ended = false;

  constructor(request: SessionRequest, settle: (end: SessionEnd) => void) {
    this.#request = request;
    this.#settle = settle;
    this.#id = request.executionId ?? randomUUID();
    this.#streamed = new LogBook(request.options);
  }

  start(): void {
    const { transport, signal, code, manifests, options } = this.#request;
    this.#unsubscribe.push(
      transport.onMessage((value) => this.#onMessage(value)),
      transport.onClose((reason) => this.#onClose(reason)),
    );
    const onAbort = (): void => this.#cancel();
    if (signal) {
      signal.addEventListener('abort', onAbort, { once: true });
      this.#unsubscribe.push(() => signal.removeEventListener('abort', onAbort));
    }
    this.#request.onHandle?.({ cancel: onAbort });
    this.#watch(this.#request.startTimeoutMs ?? START_TIMEOUT_MS, 'the runner did not start the execution in time');
    this.#send({ type: 'execute', id: this.#id, code, options, providers: manifests });
    if (signal?.aborted) this.#cancel();
  }

  #onMessage(value: unknown): void {
    if (this.#ended) return;
    const parsed = parseRunnerMessage(value);
    if (!parsed.ok) {
      // A message for another execution is none of ours, however malformed.
      if (parsed.id !== undefined && parsed.id !== this.#id) return;
      this.#violation(parsed.reason);
      return;
    }
    const { message } = parsed;
    if (message.type === 'tool_call') return this.#onToolCall(message);
    if (message.id !== this.#id) return;
    if (message.type === 'started') this.#onStarted();
    else if (message.type === 'log') this.#onLog(message.line);
    else this.#onDone(message);
  }

  #onStarted(): void {
    if (this.#startedAt !== undefined) return this.#violation('a second started');
    this.#startedAt = performance.now();
    this.#event({ type: 'started', executionId: this.#id });
    if (!this.#cancelled) this.#watchRun();
  }

  /** The runner keeps the time; this is the backstop for one that does not. */
  #watchRun(): void {
    clearTimeout(this.#timer);
    const grace = this.#request.cancelGraceMs ?? KILL_GRACE_MS;
    this.#timer = setTimeout(() => this.#cancel(), this.#request.options.timeoutMs + grace / 2);
  }

  #onLog(line: string): void {
    const kept = this.#streamed.add(line);
    if (kept !== undefined) this.#event({ type: 'log', executionId: this.#id, line: kept });
  }

  #onToolCall(message: ToolCallMessage): void {
    if (this.#startedAt === undefined) return this.#violation('a tool_call before started');
    if (this.#cancelled) return;
    const complaint = this.#calls.enter(message);
    if (complaint !== undefined) return this.#violation(complaint);
    const { callId, providerName, safeToolName } = message;
    const from = performance.now();
    const facts = { executionId: this.#id, callId, providerName, safeToolName };
    this.#event({ type: 'tool_call', ...facts, input: message.input });
    this.#abort ??= manyListeners();
    this.#request.dispatch(message, this.#abort.signal).then((outcome) => {
      this.#calls.close(callId);
      const durationMs = performance.now() - from;
      const end = outcome.ok ? { ok: true as const } : { ok: false as const, error: outcome.error };
      this.#event({ type: 'tool_result', ...facts, durationMs, ...end });
      if (this.#ended || this.#cancelled) return;
      this.#send(
        outcome.ok
          ? {
              type: 'tool_result',
              callId,
              ok: true,
              ...(outcome.result === undefined ? {} : { result: outcome.result }),
            }
          : { type: 'tool_result', callId, ok: false, error: outcome.error },
      );
    });
  }

  #onDone(message: DoneMessage): void {
    if (this.#startedAt === undefined && message.ok) return this.#violation('done before started');
    this.#end(this.#outcomeOf(message), message.logs, 'reusable', message.durationMs);
  }

  #outcomeOf(message: DoneMessage): Outcome {
    if (this.#cancelled) return { ok: false, error: { code: 'timeout', message: TIMED_OUT } };
    if (!message.ok) return { ok: false, error: clipError(message.error) };
    const checked = checkTransportSafe(message.result, { root: 'result' });
    if (!checked.ok) return { ok: false, error: { code: 'serialization_error', message: checked.message } };
    return { ok: true, ...(checked.value === undefined ? {} : { result: checked.value }) };
  }

  #cancel(): void {
    if (this.#ended || this.#cancelled) return;
    this.#cancelled = true;
    this.#abort?.abort(new Error(TIMED_OUT));
    this.#request.interrupt?.();
    this.#send({ type: 'cancel', id: this.#id });
    if (this.#ended) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#end({ ok: false, error: { code: 'timeout', message: TIMED_OUT } }, this.#streamed.lines, 'spent'),
      this.#request.cancelGraceMs ?? KILL_GRACE_MS,
    );
  }

  #onClose(reason: CloseReason): void {
    if (this.#cancelled)
      return this.#end({ ok: false, error: { code: 'timeout', message: TIMED_OUT } }, this.#streamed.lines, 'spent');
    this.#lost(`the runner went away before it was done: ${printable(reason.message)}`);
  }

  /** Our own measure. The runner's counts where it is possible: it started before we heard of it, and not before we asked. */
  #duration(reportedMs: number): number {
    const now = performance.now();
    return Math.min(now - this.#began, Math.max(now - (this.#startedAt ?? this.#began), reportedMs));
  }

  #violation(what: string): void {
    this.#lost(`the runner broke the protocol: ${printable(what)}`);
  }

  #lost(message: string): void {
    this.#end({ ok: false, error: { code: 'internal_error', message } }, this.#streamed.lines, 'spent');
  }

  #watch(ms: number, what: string): void {
    this.#timer = setTimeout(() => this.#lost(what), ms);
  }

  #send(message: HostMessage): void {
    try {
      const sent = this.#request.transport.send(message);
      // The close tells the same; here it must only not go unhandled.
      if (sent instanceof Promise) sent.catch(() => {});
    } catch (error) {
      this.#lost(`the runner cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #event(event: ExecutionEvent): void {
    if (!this.#request.onEvent || (this.#ended && event.type !== 'done')) return;
    try {
      this.#request.onEvent(event);
    } catch {
      // A listener that fails has failed itself; the execution is none of its business.
    }
  }

  #end(outcome: Outcome, logs: readonly string[], state: 'reusable' | 'spent', reportedMs = 0): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    // Tools that still run work for nobody.
    this.#abort?.abort(new Error('the execution has ended'));
    const book = new LogBook(this.#request.options);
    for (const line of logs) book.add(line);
    const durationMs = this.#duration(reportedMs);
    const result: ExecuteResult = { ...outcome, logs: book.lines, durationMs };
    this.#event({ type: 'done', executionId: this.#id, result });
    this.#settle({ result, reusable: state === 'reusable' });
  }
}

function clipError(error: ExecuteError): ExecuteError {
  return {
    ...error,
    message: clipText(error.message),
    ...(error.stack === undefined ? {} : { stack: clipText(error.stack) }),
  };
}

function clipText(text: string): string {
  return text.length <= MAX_RUNNER_ERROR_CHARS ? text : `${text.slice(0, MAX_RUNNER_ERROR_CHARS)}…`;
}
