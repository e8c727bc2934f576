import { createRequire } from 'node:module';
import { SallyportError } from '../errors/index.js';

/** The part of the terminal library's native layer that is used here. */
export interface NativeTerminal {
  open(cols: number, rows: number): { readonly master: number; readonly slave: number; readonly pty: string };
  resize(master: number, cols: number, rows: number): void;
}

function isNativeTerminal(value: unknown): value is NativeTerminal {
  return (
    typeof value === 'object' &&
    value !== null &&
    'open' in value &&
    typeof value.open === 'function' &&
    'resize' in value &&
    typeof value.resize === 'function'
  );
}

let loaded: NativeTerminal | undefined;

/**
 * Loads the native layer. Its JavaScript layer is left aside: at exit that drops what is still on its way from the
 * terminal. Throws SPAWN_TERMINAL_UNAVAILABLE where no binary was built for the platform.
 */
export function nativeTerminal(): NativeTerminal {
  if (loaded !== undefined) return loaded;
  const name = `@lydell/node-pty-${process.platform}-${process.arch}`;
  let found: unknown;
  try {
    const require = createRequire(import.meta.url);
    // The binary is a dependency of the library, so it is looked for from there.
    found = createRequire(require.resolve('@lydell/node-pty'))(`${name}/pty.node`);
  } catch (cause) {
    throw new SallyportError(
      'SPAWN_TERMINAL_UNAVAILABLE',
      `the terminal library ${name} cannot be loaded`,
      {},
      { cause },
    );
  }
  if (!isNativeTerminal(found)) {
    throw new SallyportError('SPAWN_TERMINAL_UNAVAILABLE', `the terminal library ${name} lacks \`open\` or \`resize\``);
  }
  loaded = found;
  return found;
}
