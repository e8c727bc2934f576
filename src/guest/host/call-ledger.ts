import { printable } from '../../wire/index.js';
import {
  MAX_PENDING_INPUT_CHARS,
  MAX_PENDING_INPUT_VALUES,
  MAX_PENDING_TOOL_CALLS,
  MAX_REMEMBERED_CALL_IDS,
} from '../limits.js';
import type { ToolCallMessage } from '../messages.js';

interface Weight {
  readonly chars: number;
  readonly values: number;
}

/**
 * The tool calls of one execution, as the host counts them. A runner keeps the same limits itself, so whoever goes beyond them is
 * no honest runner.
 */
export class CallLedger {
  readonly #pending = new Map<string, Weight>();
  /** Ids of calls that are answered, the oldest first. */
  readonly #answered = new Set<string>();
  #chars = 0;
  #values = 0;

  /** Enters a call, or says why it must not be run. */
  enter({ callId, input }: ToolCallMessage): string | undefined {
    if (this.#pending.has(callId) || this.#answered.has(callId)) {
      return `callId ${printable(callId, 40)} was used twice`;
    }
    if (this.#pending.size >= MAX_PENDING_TOOL_CALLS) return `more than ${MAX_PENDING_TOOL_CALLS} tool calls at once`;
    const weight = weigh(input, MAX_PENDING_INPUT_VALUES - this.#values);
    if (this.#chars + weight.chars > MAX_PENDING_INPUT_CHARS) {
      return `more than ${MAX_PENDING_INPUT_CHARS} characters of tool input at once`;
    }
    if (this.#values + weight.values > MAX_PENDING_INPUT_VALUES) {
      return `more than ${MAX_PENDING_INPUT_VALUES} values of tool input at once`;
    }
    this.#pending.set(callId, weight);
    this.#chars += weight.chars;
    this.#values += weight.values;
    return undefined;
  }

  /** Closes a call that was answered. */
  close(callId: string): void {
    const weight = this.#pending.get(callId);
    if (weight === undefined) return;
    this.#pending.delete(callId);
    this.#chars -= weight.chars;
    this.#values -= weight.values;
    this.#answered.add(callId);
    if (this.#answered.size <= MAX_REMEMBERED_CALL_IDS) return;
    const [oldest] = this.#answered;
    if (oldest !== undefined) this.#answered.delete(oldest);
  }
}

/** Counts a value's parts, and the characters of its strings and keys. Stops once there are more than `maxValues`. */
function weigh(value: unknown, maxValues: number): Weight {
  const rest: unknown[] = [value];
  let chars = 0;
  let values = 0;
  while (rest.length > 0 && values <= maxValues) {
    const next = rest.pop();
    values += 1;
    if (typeof next === 'string') chars += next.length;
    if (typeof next !== 'object' || next === null) continue;
    // A thread can send what no message of the protocol holds. It is refused later, and must cost nothing here.
    if (ArrayBuffer.isView(next)) chars += next.byteLength;
    else if (Array.isArray(next)) {
      if (next.length > maxValues) return { chars, values: next.length };
      for (const item of next) rest.push(item);
    } else {
      for (const [key, item] of Object.entries(next)) {
        chars += key.length;
        rest.push(item);
      }
    }
  }
  return { chars, values };
}
