import type { Transport } from '../../wire/index.js';
import { GuestVm } from '../engine/guest-vm.js';
import type { EngineModules } from '../engine/modules.js';
import type { HostMessage, RunnerMessage } from '../messages.js';
import { Execution, type ExecutionWorld } from './execution.js';
import { HostLink } from './host-link.js';

export interface RunnerCoreOptions {
  readonly modules: EngineModules;
  /** The engine's stack, which must fit the stack of the thread it runs on. */
  readonly stackBytes: number;
  /** True once the guest that runs now is to stop: read from shared memory while the guest is busy. */
  readonly aborted?: () => boolean;
  /** The clock, in milliseconds. */
  readonly now?: () => number;
}

/**
 * The runner's side of a session, with the engine on this very thread: a guest that is busy keeps it from reading messages.
 *
 *     idle ──execute──▶ active ──done──▶ idle        (the heap is made pristine in between)
 *     active ──execute──▶ active                     (the new one is answered with `internal_error`)
 *     any ──message that is none──▶ closed, with the reason
 */
export class RunnerCore {
  readonly #host: HostLink;
  readonly #options: RunnerCoreOptions;
  readonly #world: ExecutionWorld;
  #vm: GuestVm | undefined;
  #preparing: Promise<void> | undefined;
  #active: Execution | undefined;
  #calls = 0;
  #closed = false;

  constructor(transport: Transport<unknown, RunnerMessage>, options: RunnerCoreOptions) {
    this.#host = new HostLink(transport);
    this.#options = options;
    this.#world = {
      now: options.now ?? (() => performance.now()),
      setTimer: (callback, ms) => setTimeout(callback, ms),
      clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
      aborted: options.aborted ?? (() => false),
      nextCallId: () => `call-${++this.#calls}`,
      emit: (message) => {
        if (message.type === 'done') queueMicrotask(() => this.#afterwards());
        this.#host.send(message);
      },
    };
    transport.onMessage((value) => this.#onMessage(value));
    transport.onClose(() => this.dispose());
  }

  /** Makes an engine ready, so that the first execution does not wait for it. */
  prewarm(): Promise<void> {
    if (this.#vm) return Promise.resolve();
    this.#preparing ??= GuestVm.create(this.#options.modules, this.#options.stackBytes)
      .then((vm) => {
        if (this.#closed) vm.dispose();
        else this.#vm = vm;
      })
      .finally(() => {
        this.#preparing = undefined;
      });
    return this.#preparing;
  }

  dispose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#active?.cancel();
    this.#active = undefined;
    this.#vm?.dispose();
    this.#vm = undefined;
  }

  #onMessage(value: unknown): void | Promise<void> {
    const message = this.#host.read(value);
    if (message === undefined) return;
    switch (message.type) {
      case 'execute':
        return this.#execute(message);
      case 'cancel':
        if (this.#active?.id === message.id) this.#active.cancel();
        break;
      case 'tool_result':
        this.#active?.toolResult(message);
        break;
    }
    this.#afterwards();
  }

  #execute(message: Extract<HostMessage, { type: 'execute' }>): void | Promise<void> {
    if (this.#active) {
      this.#host.refuseSecond(message.id);
      return;
    }
    // Without an engine the next messages wait: a cancel must find the execution it is for.
    if (!this.#vm) return this.prewarm().then(() => this.#start(message));
    this.#start(message);
  }

  #start(message: Extract<HostMessage, { type: 'execute' }>): void {
    if (this.#closed || !this.#vm) return;
    const execution = new Execution(this.#vm, message, this.#world);
    this.#active = execution;
    execution.announce();
    execution.run();
    this.#afterwards();
  }

  /** The answer is on its way; now the heap is made pristine, or the engine replaced. */
  #afterwards(): void {
    if (!this.#active?.ended) return;
    this.#active = undefined;
    if (this.#vm?.reset()) return;
    this.#vm?.dispose();
    this.#vm = undefined;
    // The next execution tries again, and fails with the reason.
    this.prewarm().catch(() => {});
  }
}
