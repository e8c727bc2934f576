import type { JSValueHandle } from 'quickjs-wasi';
import { describeError, errorMessage } from '../engine/describe-error.js';
import { formatValue } from '../engine/format-value.js';
import { BrokenGuest, GuestFailure, NoGuestMemory } from '../engine/guest-errors.js';
import type { Pointer } from '../engine/guest-heap.js';
import type { GuestVm } from '../engine/guest-vm.js';
import type { GuestHooks } from '../engine/host-calls.js';
import { dataText, readValue } from '../engine/read-value.js';
import {
  CANCEL_UNWIND_MS,
  JOBS_PER_CLOCK_CHECK,
  MAX_PENDING_INPUT_CHARS,
  MAX_PENDING_INPUT_VALUES,
  MAX_PENDING_TIMERS,
  MAX_PENDING_TOOL_CALLS,
} from '../limits.js';
import type {
  DoneMessage,
  ExecuteError,
  ExecuteErrorCode,
  ExecuteMessage,
  RunnerMessage,
  ToolResultMessage,
} from '../messages.js';
import { isExecuteErrorCode } from '../messages.js';
import { GUEST_FILE, mapStack, prepareSource, type SourceOrigin } from '../source/index.js';
import { hintFor } from './hints.js';
import { LogBook } from './log-book.js';

/** What an execution needs of the world around it. */
export interface ExecutionWorld {
  /** Milliseconds, from any fixed point. */
  now(): number;
  setTimer(callback: () => void, ms: number): unknown;
  clearTimer(timer: unknown): void;
  /** True once somebody outside wants the guest to stop; read from inside a busy guest. */
  aborted(): boolean;
  /** An id that was never given before on this transport. */
  nextCallId(): string;
  emit(message: RunnerMessage): void;
}

interface PendingCall {
  readonly resolve: (value: Pointer) => void;
  readonly reject: (value: Pointer) => void;
  readonly chars: number;
  readonly values: number;
}

export const TIMED_OUT = 'Execution timed out';

/**
 * One run of one program in one engine.
 *
 *     new ──announce()──▶ accepted ──run()──▶ running ⇄ waiting (for tools and timers) ──▶ ended (exactly one `done`)
 *     running, waiting ──deadline──▶ ended (timeout)
 *     running, waiting ──cancel()──▶ unwinding (pending calls reject, nothing is sent) ──▶ ended (timeout)
 *
 * What a failure is, this side decides: by what it counted and by the identity of errors it made, never by what the guest
 * says.
 */
export class Execution {
  readonly id: string;
  readonly #vm: GuestVm;
  readonly #message: ExecuteMessage;
  readonly #world: ExecutionWorld;
  readonly #logs: LogBook;
  readonly #calls = new Map<string, PendingCall>();
  readonly #timers = new Map<number, unknown>();
  /** Errors that the host made, by identity: a guest may rethrow one, not change it. */
  readonly #trusted = new Map<number, ExecuteError>();
  readonly #tools: { readonly providerName: string; readonly safeToolName: string }[] = [];
  #origin: SourceOrigin = { lineOffset: 1, lineCount: 0 };
  #startedAt = 0;
  #deadline = Number.POSITIVE_INFINITY;
  #deadlineTimer: unknown;
  #nextTimer = 1;
  #pendingChars = 0;
  #pendingValues = 0;
  #promise: Pointer | undefined;
  #interrupted = false;
  #cancelled = false;
  #ended = false;

  constructor(vm: GuestVm, message: ExecuteMessage, world: ExecutionWorld) {
    this.id = message.id;
    this.#vm = vm;
    this.#message = message;
    this.#world = world;
    this.#logs = new LogBook(message.options);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Accepts the execution: its time runs from here. */
  announce(): void {
    this.#startedAt = this.#world.now();
    this.#deadline = this.#startedAt + this.#message.options.timeoutMs;
    this.#world.emit({ type: 'started', id: this.id });
  }

  run(): void {
    const { options } = this.#message;
    this.#attempt(() => {
      // Whoever took the execution has measured the program already.
      const prepared = prepareSource(this.#message.code, { maxBytes: Number.POSITIVE_INFINITY });
      if (!prepared.ok) {
        this.#fail({ code: 'runtime_error', ...prepared.error });
        return;
      }
      this.#origin = prepared.origin;
      this.#vm.begin(this.#hooks, options.memoryLimitBytes);
      this.#installTools();
      const script = this.#vm.evaluate(prepared.script, GUEST_FILE);
      if (!script.ok) return this.#failWith(script.value);
      const called = this.#vm.call(script.value);
      this.#vm.free(script.value);
      if (!called.ok) return this.#failWith(called.value);
      this.#promise = called.value;
      this.#pump();
    });
  }

  /** Hands a tool's result to the call that waits for it. Late and unknown ones are ignored. */
  toolResult(message: ToolResultMessage): void {
    const call = this.#calls.get(message.callId);
    if (call === undefined || this.#ended) return;
    this.#calls.delete(message.callId);
    this.#pendingChars -= call.chars;
    this.#pendingValues -= call.values;
    this.#attempt(() => {
      if (message.ok) {
        const value = this.#vm.newValue(message.result);
        if (value === undefined) return this.#failMemory();
        call.resolve(value);
        this.#vm.free(value);
      } else {
        const code = isExecuteErrorCode(message.error.code) ? message.error.code : 'tool_error';
        const error = this.#trustedError(code, message.error.message);
        call.reject(error);
        this.#vm.free(error);
      }
      this.#pump();
    });
  }

  /** Ends the run as a timeout, whatever the guest does from here on. */
  cancel(): void {
    if (this.#ended) return;
    this.#cancelled = true;
    this.#deadline = this.#world.now() + CANCEL_UNWIND_MS;
    this.#attempt(() => {
      for (const [callId, call] of this.#calls) {
        this.#calls.delete(callId);
        const error = this.#trustedError('timeout', TIMED_OUT);
        call.reject(error);
        this.#vm.free(error);
      }
      this.#runJobs();
    });
    this.#failTimeout();
  }

  // --- what the guest asks for -------------------------------------------------------------------------------------------

  readonly #hooks: GuestHooks = {
    log: (args) => {
      const room = this.#logs.room;
      if (room <= 0) return;
      let line = '';
      for (const [index, arg] of args.entries()) {
        if (line.length > room) break;
        line += `${index > 0 ? ' ' : ''}${formatValue(this.#vm, arg, room - line.length + 1)}`;
      }
      const kept = this.#logs.add(line);
      if (kept !== undefined && this.#message.options.streamLogs === true) {
        this.#world.emit({ type: 'log', id: this.id, line: kept });
      }
    },
    callTool: (index, input) => this.#callTool(index, input),
    setTimer: (ms) => {
      if (this.#timers.size >= MAX_PENDING_TIMERS) return -1;
      const id = this.#nextTimer++;
      this.#armTimer(id, ms);
      return id;
    },
    clearTimer: (id) => {
      this.#world.clearTimer(this.#timers.get(id));
      this.#timers.delete(id);
    },
    interrupt: () => {
      // The flag is for a guest that keeps the cancel from being read. Once it is read, the guest has its time to unwind.
      const aborted = this.#world.aborted() && !this.#cancelled;
      if (this.#world.now() < this.#deadline && !aborted) return false;
      this.#interrupted = true;
      return true;
    },
  };

  #callTool(index: number, input: Pointer): JSValueHandle {
    const vm = this.#vm;
    const tool = this.#tools[index];
    const { promise, resolve, reject } = vm.newPromise();
    const refuse = (code: ExecuteErrorCode, message: string): JSValueHandle => {
      const error = this.#trustedError(code, message);
      reject(error);
      vm.free(error);
      return promise;
    };
    if (tool === undefined) return refuse('internal_error', 'unknown tool');
    // The engine asks for the time between calls, not during one: reading large inputs on would put off the end.
    if (this.#cancelled || this.#hooks.interrupt()) return refuse('timeout', TIMED_OUT);
    if (this.#calls.size >= MAX_PENDING_TOOL_CALLS) {
      return refuse(
        'tool_error',
        `more than ${MAX_PENDING_TOOL_CALLS} tool calls are waiting: await some of them first`,
      );
    }
    const read = readValue(vm, input, 'input');
    if (!read.ok) return refuse('serialization_error', `${tool.providerName}.${tool.safeToolName}: ${read.message}`);
    if (this.#pendingChars + read.chars > MAX_PENDING_INPUT_CHARS) {
      return refuse(
        'tool_error',
        `more than ${MAX_PENDING_INPUT_CHARS} characters of tool input are waiting: await some calls first`,
      );
    }
    if (this.#pendingValues + read.values > MAX_PENDING_INPUT_VALUES) {
      return refuse(
        'tool_error',
        `more than ${MAX_PENDING_INPUT_VALUES} values of tool input are waiting: await some calls first`,
      );
    }
    const callId = this.#world.nextCallId();
    this.#calls.set(callId, { resolve, reject, chars: read.chars, values: read.values });
    this.#pendingChars += read.chars;
    this.#pendingValues += read.values;
    this.#world.emit({
      type: 'tool_call',
      callId,
      ...tool,
      ...(read.value === undefined ? {} : { input: read.value }),
    });
    return promise;
  }

  #armTimer(id: number, ms: number): void {
    this.#timers.set(
      id,
      this.#world.setTimer(() => this.#onTimer(id, ms), ms),
    );
  }

  #onTimer(id: number, ms: number): void {
    if (this.#ended || !this.#timers.delete(id)) return;
    this.#attempt(() => {
      const fired = this.#vm.tryInternal('fire', this.#vm.newNumber(id));
      if (!fired.ok) return this.#failWith(fired.value);
      if (this.#vm.booleanOf(fired.value)) this.#armTimer(id, ms);
      this.#vm.free(fired.value);
      this.#pump();
    });
  }

  // --- driving the guest ---------------------------------------------------------------------------------------------------

  #installTools(): void {
    const vm = this.#vm;
    for (const provider of this.#message.providers) {
      const names = Object.keys(provider.tools);
      const first = vm.newNumber(this.#tools.length);
      vm.free(vm.callInternal('install', vm.newString(provider.name), vm.newString(JSON.stringify(names)), first));
      for (const safeToolName of names) this.#tools.push({ providerName: provider.name, safeToolName });
    }
  }

  /** Runs jobs until the guest waits for something, and ends the run when its promise has settled. */
  #pump(): void {
    this.#runJobs();
    if (this.#ended) return;
    // An operation of the engine that cannot be interrupted may end after the limit.
    if (this.#interrupted || this.#hooks.interrupt()) return this.#failTimeout();
    const promise = this.#promise as Pointer;
    const state = this.#vm.promiseState(promise);
    if (state === 0) return this.#armDeadline();
    const value = this.#vm.promiseResult(promise);
    if (state === 2) return this.#failWith(value);
    const read = readValue(this.#vm, value, 'result');
    if (read.ok) this.#end({ ok: true, ...(read.value === undefined ? {} : { result: read.value }) });
    else if (read.reason === 'no-memory') this.#failMemory();
    else this.#fail({ code: 'serialization_error', message: read.message });
  }

  #runJobs(): void {
    for (let count = 1; ; count += 1) {
      const outcome = this.#vm.runJob();
      if (outcome === 'none' || this.#interrupted) return;
      // What a microtask throws and nobody catches ends the run, as with a timer.
      if (outcome !== 'done') return this.#failWith(outcome.thrown);
      // A chain of short jobs never runs long enough for the engine to ask by itself.
      if (count % JOBS_PER_CLOCK_CHECK === 0 && this.#hooks.interrupt()) return;
    }
  }

  #armDeadline(): void {
    this.#deadlineTimer ??= this.#world.setTimer(
      () => this.#failTimeout(),
      Math.max(0, Math.ceil(this.#deadline - this.#world.now())),
    );
  }

  /** Whatever breaks while the guest runs becomes an end of the run. */
  #attempt(run: () => void): void {
    if (this.#ended) return;
    try {
      run();
    } catch (error) {
      this.#broke(error);
    }
  }

  // --- how it ends -----------------------------------------------------------------------------------------------------------

  #broke(error: unknown): void {
    if (this.#interrupted) return this.#failTimeout();
    const starved = error instanceof NoGuestMemory || this.#vm.nearLimit(this.#message.options.memoryLimitBytes);
    if (starved) return this.#failMemory();
    if (error instanceof RangeError || (error instanceof BrokenGuest && error.kind === 'stack')) {
      return this.#fail({ code: 'runtime_error', message: 'RangeError: Maximum call stack size exceeded' });
    }
    if (error instanceof GuestFailure) {
      return this.#fail({ code: 'runtime_error', message: `the program broke what it runs on: ${error.message}` });
    }
    this.#fail({ code: 'internal_error', message: 'the engine failed' });
  }

  #failWith(reason: Pointer): void {
    const vm = this.#vm;
    if (this.#interrupted) return this.#failTimeout();
    const trusted = this.#trusted.get(vm.identity(reason));
    if (trusted !== undefined && this.#isUnchanged(reason, trusted)) return this.#fail(trusted);
    if (this.#isOutOfMemory(reason)) return this.#failMemory();
    const description = describeError(vm, reason);
    const stack = mapStack(description.stack, { origin: this.#origin });
    const [, line, column] = /:(\d+):(\d+)\)?$/m.exec(stack.split('\n')[0] ?? '') ?? [];
    const at = line === undefined ? undefined : Number(line);
    const hint = hintFor(description.name, description.message, {
      providers: this.#message.providers,
      globals: () => this.#globalNames(),
      code: this.#message.code,
      line: at,
    });
    this.#fail({
      code: 'runtime_error',
      message: hint === '' ? errorMessage(description) : `${errorMessage(description)}. ${hint}`,
      ...(at === undefined ? {} : { line: at, column: Number(column) }),
      ...(stack === '' ? {} : { stack }),
    });
  }

  /** A guest may rethrow an error that the host made, not edit one. */
  #isUnchanged(reason: Pointer, error: ExecuteError): boolean {
    const same = (field: 'code' | 'message'): boolean =>
      dataText(this.#vm, reason, field, error[field].length + 1) === error[field];
    return same('code') && same('message');
  }

  /** With no memory left for the error itself, the engine throws null. */
  #isOutOfMemory(reason: Pointer): boolean {
    const vm = this.#vm;
    return vm.kindOf(reason) === 'null'
      ? vm.nearLimit(this.#message.options.memoryLimitBytes)
      : vm.isOutOfMemory(reason);
  }

  #globalNames(): string[] {
    const names = this.#vm.tryInternal('globals');
    const text = names.ok && this.#vm.kindOf(names.value) === 'string' ? this.#vm.stringOf(names.value) : undefined;
    this.#vm.free(names.value);
    const list: unknown = text === undefined ? [] : JSON.parse(text);
    return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
  }

  #trustedError(code: ExecuteErrorCode, message: string): Pointer {
    const vm = this.#vm;
    const error = vm.callInternal('makeError', vm.newString(code), vm.newString(message));
    this.#trusted.set(vm.identity(error), { code, message: message.toWellFormed() });
    // Never freed: while the object is alive, its identity is its own.
    vm.duplicate(error);
    return error;
  }

  #failTimeout(): void {
    this.#fail({ code: 'timeout', message: TIMED_OUT });
  }

  #failMemory(): void {
    const limit = this.#message.options.memoryLimitBytes;
    this.#fail({ code: 'memory_limit', message: `Out of memory: the limit is ${limit} bytes` });
  }

  #fail(error: ExecuteError): void {
    // The time may have run out while the failure was looked at.
    const timedOut = this.#cancelled || this.#interrupted;
    this.#end({ ok: false, error: timedOut ? { code: 'timeout', message: TIMED_OUT } : error });
  }

  #end(outcome: { ok: true; result?: unknown } | { ok: false; error: ExecuteError }): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#world.clearTimer(this.#deadlineTimer);
    for (const timer of this.#timers.values()) this.#world.clearTimer(timer);
    this.#timers.clear();
    this.#calls.clear();
    const durationMs = Math.max(0, this.#world.now() - this.#startedAt);
    const done: DoneMessage = { type: 'done', id: this.id, durationMs, logs: this.#logs.lines, ...outcome };
    this.#world.emit(done);
  }
}
