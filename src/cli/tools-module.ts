import { register } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { assertProviders, isToolProvider, type ToolProvider } from '../capabilities/index.js';
import { printable } from '../wire/index.js';
import { CliError } from './exit.js';

/** Loads the tools that a module exports: providers made with `defineTools`, one by one or in arrays, under any name. */
export async function loadTools(path: string): Promise<ToolProvider[]> {
  const exported = await importModule(path);
  const providers = new Set<ToolProvider>();
  for (const value of Object.values(exported)) {
    for (const item of Array.isArray(value) ? value : [value]) if (isToolProvider(item)) providers.add(item);
  }
  if (providers.size === 0) {
    throw new CliError(`${path} exports no tools: export what defineTools(namespace, { … }) returns`);
  }
  try {
    assertProviders([...providers]);
  } catch (error) {
    throw new CliError(`${path}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return [...providers];
}

async function importModule(path: string): Promise<Record<string, unknown>> {
  const file = resolve(path);
  try {
    // From here on this process can import TypeScript, and finds this package where the module has none of its own.
    register(new URL('./module-hooks.js', import.meta.url));
    return await import(pathToFileURL(file).href);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`cannot load tools from ${path}: ${printable(reason)}`);
  }
}
