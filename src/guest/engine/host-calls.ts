import { randomFillSync } from 'node:crypto';
import type { JSValueHandle, QuickJS } from 'quickjs-wasi';
import { MAX_QUERY_PAIRS, MAX_RANDOM_BYTES, MAX_URL_CHARS } from '../limits.js';
import { NoGuestMemory, OUT_OF_MEMORY, STACK_OVERFLOW } from './guest-errors.js';
import type { Pointer } from './guest-heap.js';
import { HOST_OP } from './prelude.js';
import { changeUrl, formatQuery, parseQuery, parseUrl } from './url-host.js';

/** What a run hears of its guest. Pointers are borrowed for the duration of the call. */
export interface GuestHooks {
  log(args: readonly Pointer[]): void;
  /** Returns what the tool function returns to the guest: a promise, or a rejected one. */
  callTool(toolIndex: number, input: Pointer): JSValueHandle;
  /** Returns the id of the timer, or -1 when there are too many. */
  setTimer(delayMs: number): number;
  clearTimer(id: number): void;
  /** True ends the guest's current turn with an exception that it cannot catch. */
  interrupt(): boolean;
}

/** What nobody who runs hears. */
const NO_HOOKS: GuestHooks = {
  log: () => {},
  callTool: () => {
    throw new Error('no run is active');
  },
  setTimer: () => -1,
  clearTimer: () => {},
  interrupt: () => false,
};

/** What the host does not do for a guest, in words for it: what it is asked for would cost the host's own memory. */
class Refusal extends Error {}

/** Answers what the prelude asks of the host, for whichever run is active. */
export class HostCalls {
  /** Whether the guest of this run could not be answered for lack of memory. */
  starved = false;
  hooks: GuestHooks = NO_HOOKS;
  readonly #vm: QuickJS;
  #lastAnswer: JSValueHandle | undefined;

  constructor(vm: QuickJS) {
    this.#vm = vm;
  }

  begin(hooks: GuestHooks): void {
    this.hooks = hooks;
    this.starved = false;
  }

  end(): void {
    this.hooks = NO_HOOKS;
    // What it points to belongs to a heap that is about to go.
    this.#lastAnswer = undefined;
  }

  /**
   * Answers a call of the guest. An error of ours must not reach the guest as it is: its stack would tell the paths of this
   * machine. The engine copies the answer and leaves ours to us, so it is let go with the next call.
   */
  answer(args: readonly JSValueHandle[]): JSValueHandle {
    try {
      const answer = this.#perform(args);
      this.#lastAnswer?.dispose();
      this.#lastAnswer = answer;
      return answer;
    } catch (error) {
      if (error instanceof Refusal) throw error.message;
      if (error instanceof RangeError) throw STACK_OVERFLOW;
      if (!(error instanceof NoGuestMemory)) throw 'the host could not answer';
      this.starved = true;
      throw OUT_OF_MEMORY;
    }
  }

  #perform(args: readonly JSValueHandle[]): JSValueHandle {
    const vm = this.#vm;
    const text = (index: number): string => this.#text(args[index]);
    switch (args[0]?.toNumber()) {
      case HOST_OP.log:
        this.hooks.log(args.slice(1).map((arg) => arg.ptr));
        return vm.undefined;
      case HOST_OP.callTool:
        return this.hooks.callTool(args[1]?.toNumber() ?? -1, args[2]?.ptr ?? vm.undefined.ptr);
      case HOST_OP.setTimer:
        return vm.newNumber(this.hooks.setTimer(args[1]?.toNumber() ?? 0));
      case HOST_OP.clearTimer:
        this.hooks.clearTimer(args[1]?.toNumber() ?? -1);
        return vm.undefined;
      case HOST_OP.randomBytes:
        return vm.newArrayBuffer(randomFillSync(new Uint8Array(randomSize(args[1]?.toNumber()))));
      case HOST_OP.parseUrl:
        return this.#textOrUndefined(parseUrl(text(1), args[2]?.isUndefined === false ? text(2) : undefined));
      case HOST_OP.changeUrl:
        return this.#textOrUndefined(changeUrl(text(1), text(2), text(3)));
      case HOST_OP.parseQuery:
        return vm.newString(parseQuery(checkPairs(text(1))));
      case HOST_OP.formatQuery:
        return vm.newString(formatQuery(text(1)));
      default:
        return vm.undefined;
    }
  }

  /** A text that the prelude hands over, measured before it is copied out. */
  #text(handle: JSValueHandle | undefined): string {
    if (handle === undefined) return '';
    const length = handle.getProp('length');
    const chars = length.toNumber();
    length.dispose();
    if (chars > MAX_URL_CHARS) throw new Refusal(`a URL or query has more than ${MAX_URL_CHARS} characters`);
    return handle.toString();
  }

  #textOrUndefined(text: string | undefined): JSValueHandle {
    return text === undefined ? this.#vm.undefined : this.#vm.newString(text);
  }
}

function randomSize(size = 0): number {
  if (size > MAX_RANDOM_BYTES) throw new Refusal(`more than ${MAX_RANDOM_BYTES} random bytes at once`);
  return size;
}

/** Each pair takes many times the memory of its two characters. */
function checkPairs(query: string): string {
  let pairs = 1;
  for (let at = query.indexOf('&'); at !== -1; at = query.indexOf('&', at + 1)) pairs += 1;
  if (pairs > MAX_QUERY_PAIRS) throw new Refusal(`a query has more than ${MAX_QUERY_PAIRS} pairs`);
  return query;
}
