import type { Pointer } from '../../../src/guest/engine/guest-heap.js';
import { GuestVm } from '../../../src/guest/engine/guest-vm.js';
import type { GuestHooks } from '../../../src/guest/engine/host-calls.js';
import { engineModules } from '../../../src/guest/engine/modules.js';
import { INLINE_STACK_BYTES } from '../../../src/guest/limits.js';

export const MEMORY = 32 * 1024 * 1024;

export const createVm = async (): Promise<GuestVm> => GuestVm.create(await engineModules(), INLINE_STACK_BYTES);

/** Hooks that do nothing but what a test asks for. */
export function hooks(more: Partial<GuestHooks> = {}): GuestHooks {
  return {
    log: () => {},
    callTool: () => {
      throw new Error('no tools');
    },
    setTimer: () => -1,
    clearTimer: () => {},
    interrupt: () => false,
    ...more,
  };
}

/** Evaluates an expression in a heap made pristine before, and hands its value to `use`. */
export function withValue<T>(vm: GuestVm, source: string, use: (value: Pointer) => T): T {
  vm.reset();
  vm.begin(hooks(), MEMORY);
  const { ok, value } = vm.evaluate(source, 'guest.js');
  if (!ok) throw new Error(`the source threw: ${source}`);
  return use(value);
}

/** Evaluates an expression to a string, in the heap as it is. */
export function textOf(vm: GuestVm, source: string): string {
  const { ok, value } = vm.evaluate(`String(${source})`, 'guest.js');
  const text = vm.kindOf(value) === 'string' ? vm.stringOf(value) : undefined;
  vm.free(value);
  if (!ok || text === undefined) throw new Error(`no text: ${source}`);
  return text;
}

/** How large the engine's memory is. */
export const heapBytes = (vm: GuestVm): number => (vm as unknown as { view(): Uint8Array }).view().byteLength;
