import { closeSync, constants, openSync, readSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { SallyportError } from '../errors/index.js';
import { noteLeakyHandle, sealStdio } from './inherited-handles.js';
import { environmentOf, type Launched, startChild } from './launch.js';
import type { Invocation } from './level.js';
import { TERMINAL_DRAIN_BYTES, TERMINAL_READ_BYTES } from './limits.js';
import { nativeTerminal } from './native-terminal.js';
import { StreamOutput } from './output.js';
import { argvFor } from './rename-program.js';
import { checkTerminalSize, type TerminalStdio } from './request.js';
import { errnoOf, findSystemTool, spawnFailed } from './resolve-program.js';
import { masterWriter, TerminalInput } from './terminal-input.js';

let setsid: string | undefined;

function setsidTool(): string {
  if (process.platform === 'linux') setsid ??= findSystemTool('setsid');
  if (setsid !== undefined) return setsid;
  throw new SallyportError('SPAWN_TERMINAL_UNAVAILABLE', 'terminals need Linux and `setsid` (util-linux or busybox)');
}

/** Reads what the kernel still holds. With no writer left, its EIO comes strictly after the last byte. */
function readRest(master: number): Buffer {
  const chunks: Buffer[] = [];
  for (let total = 0; total < TERMINAL_DRAIN_BYTES; ) {
    const chunk = Buffer.allocUnsafe(TERMINAL_READ_BYTES);
    let count = 0;
    try {
      count = readSync(master, chunk);
    } catch {
      break;
    }
    if (count === 0) break;
    total += count;
    chunks.push(chunk.subarray(0, count));
  }
  return Buffer.concat(chunks);
}

function openTerminal(stdio: TerminalStdio): { readonly master: number; readonly slave: number } {
  try {
    const pair = nativeTerminal().open(stdio.cols, stdio.rows);
    try {
      // The library's handle of the slave side is non-blocking and survives exec; one of our own is neither.
      return { master: pair.master, slave: openSync(pair.pty, constants.O_RDWR | constants.O_NOCTTY) };
    } catch (error) {
      closeSync(pair.master);
      throw error;
    } finally {
      closeSync(pair.slave);
    }
  } catch (error) {
    if (error instanceof SallyportError) throw error;
    throw spawnFailed('a terminal', errnoOf(error), error);
  }
}

/**
 * Starts a child on a terminal of its own.
 *
 * The native layer only opens the pair. The child is started like any other, through `setsid --ctty`, which makes it the
 * leader of a session with this terminal and keeps its pid. The library's own fork would let the child inherit the
 * masters of all other terminals.
 *
 * Reading: while the slave side is held open here, the master never reports a hang-up. It is let go when the child has
 * exited. libuv takes a hang-up for the end as soon as one read returns less than its buffer holds, which on a terminal
 * is every read; the rest is still in the kernel then, and is read before the master is closed.
 */
export async function launchOnTerminal(
  invocation: Invocation,
  stdio: TerminalStdio,
  queueBytes: number,
  registered: (pid: number) => void,
): Promise<Launched> {
  const argv =
    invocation.controllingTerminal === 'level' ? argvFor(invocation) : [setsidTool(), '-c', ...argvFor(invocation)];
  const [file = '', ...args] = argv;
  const { master, slave } = openTerminal(stdio);
  const forgetMaster = noteLeakyHandle(master);
  let slaveOpen = true;
  const closeSlave = (): void => {
    if (slaveOpen) closeSync(slave);
    slaveOpen = false;
  };
  let started: Awaited<ReturnType<typeof startChild>>;
  try {
    started = await startChild(
      file,
      args,
      {
        env: environmentOf(invocation),
        cwd: invocation.cwd,
        // setsid(1) would have to fork if it led a group already.
        detached: invocation.controllingTerminal === 'level',
        stdio: sealStdio([slave, slave, slave, ...(invocation.handles ?? [])]),
      },
      registered,
    );
  } catch (error) {
    closeSlave();
    forgetMaster();
    closeSync(master);
    throw error;
  }
  const stream = new ReadStream(master, { allowHalfOpen: true });
  const output = new StreamOutput('pty', stream, () => readRest(master));
  // The number of the master may belong to another handle from the moment that the stream is destroyed.
  const write = masterWriter(master);
  const input = new TerminalInput((bytes) => (stream.destroyed ? 'closed' : write(bytes)), queueBytes);
  stream.once('close', () => {
    forgetMaster();
    input.close();
  });
  return {
    ...started,
    outputs: [output],
    input,
    extraPipes: [],
    resize: (size) => {
      checkTerminalSize(size);
      if (!stream.destroyed) nativeTerminal().resize(master, size.cols, size.rows);
    },
    onExit: () => {
      // The kernel hangs a terminal up when the leader of its session ends: nobody can read from it any more.
      input.close();
      closeSlave();
    },
    destroy: () => {
      input.close();
      closeSlave();
      output.destroy();
    },
  };
}
