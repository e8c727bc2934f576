import { readFileSync } from 'node:fs';
import { register } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isSallyportError } from '../errors/index.js';
import { checkConfig, parseConfig, type ServeConfig } from '../server/index.js';
import { printable } from '../wire/index.js';
import { CliError } from './exit.js';

let hooked = false;
let imports = 0;

/** Reads a configuration from a JSON file, or from the default export of a module. */
export async function readConfig(path: string): Promise<ServeConfig> {
  try {
    if (/\.json$/i.test(path)) return parseConfig(readFileSync(path, 'utf8'), path);
    // From here on this process can import TypeScript, and finds this package where the module has none of its own.
    if (!hooked) register(new URL('./module-hooks.js', import.meta.url));
    hooked = true;
    imports += 1;
    // Another query makes it another module: what was imported before would not be read again.
    const loaded: { default?: unknown } = await import(`${pathToFileURL(resolve(path)).href}?reading=${imports}`);
    return checkConfig(loaded.default ?? {}, path);
  } catch (error) {
    if (isSallyportError(error, 'SERVER_CONFIG')) throw new CliError(`--config: ${error.message}`);
    const reason = error instanceof Error ? error.message : String(error);
    throw new CliError(`--config: cannot read ${path}: ${printable(reason, 300)}`);
  }
}
