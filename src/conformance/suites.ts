import { DEFAULT_FOLDER } from './exec-server/limits.js';
import type { Suite } from './suite.js';
import type { TargetKind } from './target/target.js';

/** An option that one suite alone has: `--dialect <name>` on the command line, `settings.dialect` in a program. */
export interface SuiteSetting {
  readonly name: string;
  /** What stands for the value in the help. */
  readonly value: string;
  readonly help: string;
  readonly choices?: readonly string[];
  /** Tells whether a value can be used, where it is not one of a few. */
  readonly accepts?: (value: string) => boolean;
  readonly fallback?: string;
}

export interface SuiteEntry {
  readonly name: string;
  readonly summary: string;
  /** The kinds of target that it can judge. */
  readonly accepts: readonly TargetKind[];
  readonly settings?: readonly SuiteSetting[];
  /** Loads the suite itself, so that nobody waits for the others. */
  readonly load: () => Promise<Suite>;
}

/** Every suite. A new one is a folder and an entry here. */
export const SUITES: readonly SuiteEntry[] = [
  {
    name: 'runner',
    summary: 'an execbox runner, on standard input and output or on a WebSocket',
    accepts: ['command', 'websocket'],
    load: async () => (await import('./runner/suite.js')).RUNNER_SUITE,
  },
  {
    name: 'host',
    summary: 'an execbox host, behind an adapter; the suite plays the runner',
    accepts: ['command', 'websocket'],
    load: async () => (await import('./host/suite.js')).HOST_SUITE,
  },
  {
    name: 'exec-server',
    summary: 'an exec-server, on standard input and output or on a WebSocket',
    accepts: ['command', 'websocket'],
    settings: [
      {
        name: 'dialect',
        value: 'name',
        help: 'the dialect of the text, what clients of today speak, or both',
        choices: ['first', 'later', 'both'],
        fallback: 'first',
      },
      {
        name: 'folder',
        value: 'path',
        help: 'a folder that processes of the target can write to, and that they share',
        fallback: DEFAULT_FOLDER,
      },
    ],
    load: async () => (await import('./exec-server/suite.js')).EXEC_SERVER_SUITE,
  },
  {
    name: 'wasm',
    summary: 'a duplex-rpc guest, on standard input and output or on a WebSocket',
    accepts: ['command', 'websocket'],
    load: async () => (await import('./wasm/suite.js')).WASM_SUITE,
  },
  {
    name: 'wasm-host',
    summary: 'a duplex-rpc host: the suite plays its guests, and lies',
    accepts: ['command'],
    load: async () => (await import('./wasm-host/suite.js')).WASM_HOST_SUITE,
  },
  {
    name: 'executor',
    summary: 'a TPMJS executor, at an http address',
    accepts: ['http'],
    settings: [
      {
        name: 'registry-port',
        value: 'port',
        help: "where the suite's own registry listens on loopback; the target must install from it",
        accepts: (port) => /^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) < 65_536,
      },
    ],
    load: async () => (await import('./executor/suite.js')).EXECUTOR_SUITE,
  },
];
