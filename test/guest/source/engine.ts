import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { QuickJS } from 'quickjs-wasi';
import { prepareSource } from '../../../src/guest/source/index.js';

const wasm = await readFile(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'));

export type Outcome = { readonly value: unknown } | { readonly error: string; readonly stack: string };

/** Start an engine of its own. */
export const createEngine = (): Promise<QuickJS> => QuickJS.create({ wasm });

const shared = await createEngine();

/** Evaluate a script to its function, call that once, and wait for the promise. */
export async function runScript(script: string, vm: QuickJS = shared): Promise<Outcome> {
  const program = vm.evalCode(script, 'guest.js');
  const promise = vm.callFunction(program, vm.undefined);
  vm.executePendingJobs();
  const settled = vm.resolvePromise(promise);
  vm.executePendingJobs();
  const result = await settled;
  if ('value' in result) return { value: vm.dump(result.value) };
  const isError = result.error.isError;
  return {
    error: isError ? result.error.getProp('message').toString() : result.error.toString(),
    stack: isError ? result.error.getProp('stack').toString() : '',
  };
}

/** Prepare a source that must be a program, run it, and give back its value. */
export async function resultOf(source: string): Promise<unknown> {
  const prepared = prepareSource(source);
  if (!prepared.ok) throw new Error(`${prepared.error.message}\n${source}`);
  const outcome = await runScript(prepared.script);
  if ('error' in outcome) throw new Error(`${outcome.error}\n${prepared.script}`);
  return outcome.value;
}
