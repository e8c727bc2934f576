import { MAX_ERROR_TEXT_CHARS } from '../limits.js';
import { formatValue } from './format-value.js';
import type { Pointer } from './guest-heap.js';
import type { GuestVm } from './guest-vm.js';
import { dataText, inheritedText } from './read-value.js';

/** What can be said about something a guest threw, without running any of its code. */
export interface ErrorDescription {
  readonly name: string;
  readonly message: string;
  /** The engine's stack, with the engine's line numbers. Empty for what is no error. */
  readonly stack: string;
}

/** Describes anything that a guest can throw: errors, strings, null, proxies, objects with hostile getters. */
export function describeError(vm: GuestVm, ptr: Pointer): ErrorDescription {
  if (vm.kindOf(ptr) !== 'object' || vm.isProxy(ptr) || !vm.isError(ptr)) {
    return { name: '', message: formatValue(vm, ptr, MAX_ERROR_TEXT_CHARS), stack: '' };
  }
  return {
    name: inheritedText(vm, ptr, 'name', MAX_ERROR_TEXT_CHARS) ?? 'Error',
    message: inheritedText(vm, ptr, 'message', MAX_ERROR_TEXT_CHARS) ?? '',
    stack: stackOf(vm, ptr),
  };
}

/** A message for people: the message alone for a plain `Error`, with the name in front for the other kinds. */
export function errorMessage({ name, message }: ErrorDescription): string {
  if (name === '' || name === 'Error') return message === '' ? 'Error' : message;
  return message === '' ? name : `${name}: ${message}`.slice(0, MAX_ERROR_TEXT_CHARS);
}

function stackOf(vm: GuestVm, ptr: Pointer): string {
  const own = dataText(vm, ptr, 'stack', MAX_ERROR_TEXT_CHARS);
  if (own !== undefined) return own;
  const { ok, value } = vm.tryInternal('readStack', vm.duplicate(ptr));
  const text = ok && vm.kindOf(value) === 'string' ? vm.textUpTo(value, MAX_ERROR_TEXT_CHARS) : '';
  vm.free(value);
  return text;
}
