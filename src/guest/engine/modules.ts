import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** The engine and its extensions, compiled. Modules can be cloned to a worker, so each process compiles them once. */
export interface EngineModules {
  readonly engine: WebAssembly.Module;
  readonly extensions: readonly { readonly name: string; readonly wasm: WebAssembly.Module }[];
}

/** Extensions that need nothing of the host: text codecs and `structuredClone`. */
const EXTENSIONS = ['encoding', 'structured-clone'] as const;

let compiled: Promise<EngineModules> | undefined;

/** Compiles the engine once per process. */
export function engineModules(): Promise<EngineModules> {
  compiled ??= compileAll();
  return compiled;
}

async function compileAll(): Promise<EngineModules> {
  const require = createRequire(import.meta.url);
  const compile = async (file: string): Promise<WebAssembly.Module> =>
    WebAssembly.compile(await readFile(require.resolve(`quickjs-wasi/${file}`)));
  const [engine, extensions] = await Promise.all([
    compile('quickjs.wasm'),
    Promise.all(EXTENSIONS.map(async (name) => ({ name, wasm: await compile(`${name}.so`) }))),
  ]);
  return { engine, extensions };
}
