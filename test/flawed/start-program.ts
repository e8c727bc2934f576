import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { RunningTarget } from './harness.js';

/** Starts a flawed program that prints the address it serves. An empty environment: node starts much faster without certificates. */
export async function startProgram(
  program: URL,
  flaw: string | undefined,
  { token, args = [] }: { readonly token?: string; readonly args?: readonly string[] } = {},
): Promise<RunningTarget> {
  const argv = [fileURLToPath(program), '--flaw', flaw ?? 'none', ...args];
  const env = { PATH: process.env['PATH'] ?? '', ...(token === undefined ? {} : { EXECUTOR_API_KEY: token }) };
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'], env });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    void ended.then(() => reject(new Error(`${program.pathname} ended before it served`)));
  });
  return {
    target: { kind: 'url', url, ...(token === undefined ? {} : { token }) },
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
