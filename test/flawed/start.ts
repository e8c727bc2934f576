import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { RunningTarget } from './harness.js';

export interface FlawedOptions {
  readonly token?: string;
  readonly args?: readonly string[];
  /** Beside `PATH` and the token. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a flawed server, which prints its address as its first line and ends with its input. */
export async function startFlawed(
  program: URL,
  flaw: string | undefined,
  { token, args = [], env = {} }: FlawedOptions = {},
): Promise<RunningTarget> {
  const child = spawn(process.execPath, [fileURLToPath(program), '--flaw', flaw ?? 'none', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] ?? '', ...env, ...(token === undefined ? {} : { EXECUTOR_API_KEY: token }) },
  });
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    void exited.then(() => reject(new Error(`the flawed program ended at its start: --flaw ${flaw}`)));
  });
  return {
    target: { kind: 'url', url, ...(token === undefined ? {} : { token }) },
    stop: () => {
      child.stdin.end();
      return exited;
    },
  };
}
