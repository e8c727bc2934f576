import { SallyportError } from '../../errors/index.js';
import type { Spawner } from '../../sandbox/index.js';
import { printable } from '../../wire/index.js';
import { MAX_ERROR_CHARS, type WasmLimits } from '../limits.js';
import { builtInRuntime } from './built-in.js';

/** Compiles a module in a process of its own, without running anything of it. Returns the reason when that fails. */
export async function compileInChild(
  bytes: Uint8Array,
  limits: WasmLimits,
  { spawner, level }: { readonly spawner: Spawner; readonly level: string },
): Promise<SallyportError | undefined> {
  const runtime = await builtInRuntime(bytes, limits, level, 'compile');
  const guest = await runtime.start(spawner);
  await using child = guest.process;
  for (const output of child.outputs) output.discard();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void child.terminate();
  }, limits.startTimeoutMs);
  const { exitCode, signal } = await child.exited;
  clearTimeout(timer);
  if (late) {
    const message = `the module was not compiled after ${limits.startTimeoutMs} ms`;
    return new SallyportError('WASM_START_TIMEOUT', message, { limitMs: limits.startTimeoutMs });
  }
  await child.drained;
  const failure = guest.failure();
  if (failure !== undefined) {
    const message = `the module fails to ${failure.stage}: ${printable(failure.message, MAX_ERROR_CHARS)}`;
    return new SallyportError('WASM_START_FAILED', message, { stage: failure.stage });
  }
  if (exitCode === 0) return undefined;
  const end = signal === null ? `exit code ${exitCode}` : signal;
  return new SallyportError('WASM_START_FAILED', `the process that compiled the module ended by ${end}`, {
    exitCode,
    signal,
  });
}
