import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ndjsonTransport, type Transport } from '../../wire/index.js';

/** A server to start: a program and its arguments, or those with more about how. */
export type ServerCommand =
  | readonly string[]
  | {
      readonly argv: readonly string[];
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string>>;
      /** Where its messages for people go. Default: to standard error of this process. */
      readonly stderr?: 'inherit' | 'ignore';
    };

/** A server that was started as a child of this process. */
export interface SpawnedExecServer {
  readonly process: ChildProcess;
  /** Its standard streams. Ending the transport ends the server. */
  readonly transport: Transport<unknown, unknown>;
  /** Resolves with the exit code, or null after a signal. */
  readonly exited: Promise<number | null>;
}

const OWN_COMMAND = [process.execPath, fileURLToPath(new URL('../../cli/main.js', import.meta.url)), 'exec-server'];

/** Starts a server on this machine: this package's own, unless told otherwise. Clients are connected to it separately. */
export function spawnLocalExecServer(command: ServerCommand = OWN_COMMAND): SpawnedExecServer {
  const options = 'argv' in command ? command : { argv: command };
  const [program = '', ...args] = options.argv;
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', options.stderr ?? 'inherit'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: { ...options.env } }),
  });
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => resolve(code));
    child.once('error', () => resolve(null));
  });
  const transport = ndjsonTransport({
    readable: child.stdout,
    writable: child.stdin,
    onTerminate: () => child.kill('SIGKILL'),
  });
  return { process: child, transport, exited };
}
