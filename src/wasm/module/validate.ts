import { confiningSpawner } from '../../sandbox/index.js';
import { wasmRoomPolicy } from '../host/room.js';
import { completeLimits, type WasmLimits } from '../limits.js';
import { compileInChild } from '../runtime/compile-in-child.js';
import { inspectWasm, type ModuleReport } from './inspect.js';
import { loadModule } from './load.js';

export interface ValidateWasmOptions {
  readonly limits?: Partial<WasmLimits>;
  /** The isolation level of the process that compiles. Default: `process`. */
  readonly level?: string;
}

/**
 * Inspects a module and, when its edges are in order, compiles it in a process of its own within the limits of a guest: so
 * `runs` is also right for a module whose functions are invalid or take for ever to compile. Nothing of it is run.
 */
export async function validateWasm(
  pathOrBytes: string | URL | Uint8Array,
  options: ValidateWasmOptions = {},
): Promise<ModuleReport> {
  const limits = completeLimits(options.limits);
  const bytes = await loadModule(pathOrBytes, limits);
  const report = inspectWasm(bytes, limits);
  if (!report.runs) return report;
  await using spawner = confiningSpawner(wasmRoomPolicy());
  const failure = await compileInChild(bytes, limits, { spawner, level: options.level ?? 'process' });
  if (failure === undefined) return report;
  return { ...report, runs: false, problems: [{ code: failure.code, message: failure.message }] };
}
