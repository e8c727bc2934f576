import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type HeapImage, loadHeapImage } from './heap-image.js';

/** The engine and its extensions, compiled, and a heap to start from. All of it can be handed to a worker. */
export interface EngineModules {
  readonly engine: WebAssembly.Module;
  readonly extensions: readonly { readonly name: string; readonly wasm: WebAssembly.Module }[];
  readonly image?: HeapImage;
}

/** The engine, then the extensions that need nothing of the host: text codecs and `structuredClone`. */
const BINARIES = ['quickjs.wasm', 'encoding.so', 'structured-clone.so'] as const;

let loaded: Promise<EngineModules> | undefined;

/** Loads and compiles the engine once per process. */
export function engineModules(): Promise<EngineModules> {
  loaded ??= loadAll();
  return loaded;
}

async function loadAll(): Promise<EngineModules> {
  const binaries = await engineBinaries();
  const [image, ...compiled] = await Promise.all([
    loadHeapImage(binaries),
    ...binaries.map((bytes) => WebAssembly.compile(bytes)),
  ]);
  const [engine, ...extensions] = compiled;
  return {
    engine: engine as WebAssembly.Module,
    extensions: extensions.map((wasm, index) => ({ name: (BINARIES[index + 1] ?? '').replace('.so', ''), wasm })),
    ...(image ? { image } : {}),
  };
}

/** The binaries that the engine consists of, as the dependency ships them. */
export function engineBinaries(): Promise<Uint8Array[]> {
  const require = createRequire(import.meta.url);
  return Promise.all(BINARIES.map((file) => readFile(require.resolve(`quickjs-wasi/${file}`))));
}
