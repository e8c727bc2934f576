import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { RunningTarget } from '../harness.js';

const PROGRAM = fileURLToPath(new URL('./program.mjs', import.meta.url));

/** Starts the flawed program on a WebSocket, where a check costs a connection and not a process. */
export async function startListening(flaw = 'none'): Promise<RunningTarget> {
  const child = spawn(process.execPath, [PROGRAM, '--flaw', flaw, '--listen'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (text: Buffer) => {
      said += text;
      const found = /listening on (ws:\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    });
    void exited.then(() => reject(new Error(said)));
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { target: { kind: 'url', url }, stop };
}

/** The flawed program on its standard input and output. */
export function onStdio(flaw = 'none'): RunningTarget {
  return { target: { kind: 'command', argv: [process.execPath, PROGRAM, '--flaw', flaw] } };
}
