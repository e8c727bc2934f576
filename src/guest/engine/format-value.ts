import type { Pointer } from './guest-heap.js';
import type { GuestVm } from './guest-vm.js';
import { dataText, inheritedText } from './read-value.js';

/** How deep a logged value is shown. */
const MAX_SHOWN_DEPTH = 8;

/** How many entries of one container are shown. */
const MAX_SHOWN_ENTRIES = 1_000;

/** Shows a value as a log line does: strings as they are, data as JSON, the rest in a readable form. Cut to `maxChars`. */
export function formatValue(vm: GuestVm, ptr: Pointer, maxChars: number): string {
  if (vm.kindOf(ptr) === 'string') return vm.textUpTo(ptr, maxChars);
  const out = new Output(maxChars);
  write(vm, ptr, out, 0, new Set());
  return out.text;
}

/** Collects text up to a limit. What is asked of the engine is cut to the room that is left, before it is decoded or escaped. */
class Output {
  text = '';
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many UTF-16 units still fit. */
  get room(): number {
    return this.#limit - this.text.length;
  }

  get full(): boolean {
    return this.room <= 0;
  }

  add(text: string): void {
    if (!this.full) this.text += text.slice(0, this.room);
  }
}

function write(vm: GuestVm, ptr: Pointer, out: Output, depth: number, path: Set<number>): void {
  if (out.full) return;
  const kind = vm.kindOf(ptr);
  switch (kind) {
    case 'string':
      out.add(JSON.stringify(vm.textUpTo(ptr, out.room)));
      return;
    case 'number':
      out.add(String(vm.numberOf(ptr)));
      return;
    case 'boolean':
      out.add(String(vm.booleanOf(ptr)));
      return;
    case 'null':
    case 'undefined':
      out.add(kind);
      return;
    case 'bigint':
      out.add(vm.stringOf(ptr) ?? '');
      return;
    case 'symbol':
      out.add(vm.symbolText(ptr, out.room));
      return;
    default:
      writeObject(vm, ptr, out, depth, path);
  }
}

function writeObject(vm: GuestVm, ptr: Pointer, out: Output, depth: number, path: Set<number>): void {
  if (vm.isProxy(ptr)) return out.add('[Proxy]');
  if (vm.isFunction(ptr)) {
    const name = dataText(vm, ptr, 'name', out.room);
    return out.add(name ? `[Function ${name}]` : '[Function]');
  }
  if (vm.isError(ptr)) return out.add(errorText(vm, ptr, out.room));
  const identity = vm.identity(ptr);
  if (path.has(identity)) return out.add('[Circular]');
  const className = vm.className(ptr);
  if (depth >= MAX_SHOWN_DEPTH) return out.add(vm.isArray(ptr) ? '[Array]' : `[${className}]`);
  path.add(identity);
  if (vm.isArray(ptr)) writeArray(vm, ptr, out, depth, path);
  else if (className === 'Object') writePlain(vm, ptr, out, depth, path);
  else writeExotic(vm, ptr, className, out, depth, path);
  path.delete(identity);
}

function writeArray(vm: GuestVm, ptr: Pointer, out: Output, depth: number, path: Set<number>): void {
  const length = vm.arrayLength(ptr);
  out.add('[');
  for (let index = 0; index < Math.min(length, MAX_SHOWN_ENTRIES) && !out.full; index += 1) {
    if (index > 0) out.add(',');
    const key = vm.newNumber(index);
    writeEntry(vm, vm.ownData(ptr, key), out, depth, path, 'null');
    vm.free(key);
  }
  if (length > MAX_SHOWN_ENTRIES) out.add(`,… ${length - MAX_SHOWN_ENTRIES} more`);
  out.add(']');
}

function writePlain(vm: GuestVm, ptr: Pointer, out: Output, depth: number, path: Set<number>): void {
  const href = vm.tryInternal('hrefOf', vm.duplicate(ptr));
  const url = href.ok && vm.kindOf(href.value) === 'string' ? vm.textUpTo(href.value, out.room) : undefined;
  vm.free(href.value);
  if (url !== undefined) return out.add(JSON.stringify(url));
  out.add('{');
  let shown = 0;
  for (const key of vm.ownKeys(ptr) ?? []) {
    if (out.full || shown >= MAX_SHOWN_ENTRIES) break;
    if (vm.kindOf(key) !== 'string' || !vm.isEnumerable(ptr, key)) continue;
    const value = vm.ownData(ptr, key);
    // As in JSON, a property that is undefined is not shown.
    if (typeof value === 'string' || vm.kindOf(value) !== 'undefined') {
      out.add(`${shown > 0 ? ',' : ''}${JSON.stringify(vm.textUpTo(key, out.room))}:`);
      writeEntry(vm, value, out, depth, path, 'undefined');
      shown += 1;
    } else {
      vm.free(value);
    }
  }
  out.add('}');
}

function writeEntry(
  vm: GuestVm,
  value: ReturnType<GuestVm['ownData']>,
  out: Output,
  depth: number,
  path: Set<number>,
  absent: string,
): void {
  if (value === 'accessor') return out.add('[Getter]');
  if (value === 'absent' || value === 'no-memory') return out.add(absent);
  write(vm, value, out, depth + 1, path);
  vm.free(value);
}

function writeExotic(
  vm: GuestVm,
  ptr: Pointer,
  className: string,
  out: Output,
  depth: number,
  path: Set<number>,
): void {
  if (className === 'Date') {
    const { ok, value } = vm.tryInternal('dateText', vm.duplicate(ptr));
    out.add(ok ? JSON.stringify(vm.stringOf(value) ?? '') : '[Date]');
    vm.free(value);
    return;
  }
  if (className !== 'Map' && className !== 'Set') return out.add(`[${className}]`);
  const { ok, value } = vm.tryInternal(className === 'Map' ? 'mapEntries' : 'setValues', vm.duplicate(ptr));
  if (ok) {
    out.add(`${className}(${vm.arrayLength(value)}) `);
    writeArray(vm, value, out, depth, path);
  } else {
    out.add(`[${className}]`);
  }
  vm.free(value);
}

function errorText(vm: GuestVm, ptr: Pointer, maxChars: number): string {
  const message = inheritedText(vm, ptr, 'message', maxChars) ?? '';
  const name = inheritedText(vm, ptr, 'name', maxChars) ?? 'Error';
  return message === '' ? name : `${name}: ${message}`;
}
