import { readFile } from 'node:fs/promises';
import type { LoadHook, ResolveHook } from 'node:module';
import { fileURLToPath } from 'node:url';
import { stripModuleTypes } from '../guest/source/module-types.js';

/** Hooks of the module loader for modules that a user hands us: TypeScript is stripped, and `sallyport/…` is always found. */

export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  try {
    return await nextResolve(specifier, context);
  } catch (error) {
    if (/^sallyport(\/|$)/.test(specifier)) return nextResolve(specifier, { ...context, parentURL: import.meta.url });
    // TypeScript is written with the names of what it would become.
    if (/^\.{1,2}\/.*\.m?js$/.test(specifier)) return nextResolve(specifier.replace(/js$/, 'ts'), context);
    throw error;
  }
};

export const load: LoadHook = async (url, context, nextLoad) => {
  if (!/^file:[^?]*\.m?ts(\?.*)?$/.test(url)) return nextLoad(url, context);
  const source = stripModuleTypes(await readFile(fileURLToPath(url), 'utf8'));
  return { format: 'module', source, shortCircuit: true };
};
