import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { type InputStream, PipeInput } from './input.js';
import type { Invocation } from './level.js';
import { StreamOutput } from './output.js';
import type { TerminalSize } from './request.js';
import { errnoOf, spawnFailed } from './resolve-program.js';

/** A two-way pipe at handle 3 or above. */
export interface ExtraPipe {
  readonly input: InputStream;
  readonly output: StreamOutput;
  /** The stream itself, for who controls its flow alone. Not to be used together with `input` and `output`. */
  readonly socket: Duplex;
}

/** An extra pipe whose two views listen to the stream only from when they are first asked for. */
export class LazyPipe implements ExtraPipe {
  readonly socket: Duplex;
  readonly #handle: number;
  readonly #queueBytes: number;
  #input: InputStream | undefined;
  #output: StreamOutput | undefined;

  constructor(socket: Duplex, handle: number, queueBytes: number) {
    this.socket = socket;
    this.#handle = handle;
    this.#queueBytes = queueBytes;
    // A pipe that nobody uses must not bring the process down when its far end breaks.
    socket.on('error', () => {});
  }

  get input(): InputStream {
    this.#input ??= new PipeInput(this.socket, this.#queueBytes);
    return this.#input;
  }

  get output(): StreamOutput {
    this.#output ??= new StreamOutput(`fd${this.#handle}`, this.socket);
    return this.#output;
  }
}

/** A started child, as its kind of stdio makes it: what the handle is built from. */
export interface Launched {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly outputs: readonly StreamOutput[];
  readonly input: InputStream | undefined;
  readonly extraPipes: readonly ExtraPipe[];
  readonly resize: ((size: TerminalSize) => void) | undefined;
  /** Runs once, when the exit is known, before anybody hears of it. */
  readonly onExit: () => void;
  /** Gives up every handle. */
  readonly destroy: () => void;
}

/** The environment in the form that Node wants: no prototype, and nothing added by Node itself. */
export function environmentOf(invocation: Invocation): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = Object.create(null);
  // Node hands this variable down by itself, unless it is named.
  env['NODE_V8_COVERAGE'] = undefined;
  for (const [name, value] of invocation.env) env[name] = value;
  return env;
}

/** Starts a child, or throws SPAWN_FAILED with the reason of the system, whichever way Node reports it. `registered` runs in the same turn as the start. */
export async function startChild(
  file: string,
  args: readonly string[],
  options: SpawnOptions,
  registered: (pid: number) => void,
): Promise<{ readonly child: ChildProcess; readonly pid: number }> {
  let child: ChildProcess;
  try {
    child = spawn(file, args, options);
  } catch (error) {
    throw spawnFailed(JSON.stringify(file), errnoOf(error), error);
  }
  const { pid } = child;
  if (pid === undefined) {
    const error = await new Promise<Error>((resolve) => {
      child.once('error', resolve);
    });
    throw spawnFailed(JSON.stringify(file), errnoOf(error), error);
  }
  registered(pid);
  // Node keeps them for as long as the handle lives, which may outlive the child by far.
  child.spawnargs.length = 0;
  child.on('error', () => {});
  return { child, pid };
}
