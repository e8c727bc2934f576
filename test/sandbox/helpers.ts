import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { OutputStream, SpawnedProcess, SpawnRequest } from '../../src/sandbox/index.js';
import { readProcess } from '../../src/sandbox/process-table.js';

export const PATH = '/usr/local/bin:/usr/bin:/bin';

/** A request for a shell script with pipes. */
export function shell(script: string, more: Partial<SpawnRequest> = {}): SpawnRequest {
  return {
    argv: ['sh', '-c', script],
    env: { PATH },
    cwd: '/',
    stdio: { kind: 'pipes', stdin: 'null' },
    level: 'process',
    ...more,
  };
}

/** The same on a terminal of 24 by 80. */
export function terminal(script: string, more: Partial<SpawnRequest> = {}): SpawnRequest {
  return shell(script, { stdio: { kind: 'terminal', rows: 24, cols: 80 }, ...more });
}

/** Collects an output until it ends. */
export async function collect(output: OutputStream | undefined): Promise<Buffer> {
  if (output === undefined) throw new Error('there is no such output');
  const chunks: Buffer[] = [];
  output.onData((chunk) => chunks.push(chunk));
  await output.ended;
  return Buffer.concat(chunks);
}

/** Collects all outputs as text, and the exit. */
export async function result(child: SpawnedProcess) {
  const [exit, ...texts] = await Promise.all([
    child.exited,
    ...child.outputs.map(async (output) => (await collect(output)).toString()),
  ]);
  return { ...exit, text: texts[0] ?? '', errors: texts[1] ?? '' };
}

/** Resolves when an output has shown the text. */
export function shows(output: OutputStream | undefined, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    if (output === undefined) return reject(new Error('there is no such output'));
    let seen = '';
    output.onData((chunk) => {
      seen += chunk.toString();
      if (seen.includes(text)) resolve(seen);
    });
  });
}

/** Whether a process runs; one that only waits to be reaped does not. */
export function alive(pid: number): boolean {
  const entry = readProcess(pid);
  return entry !== undefined && entry.state !== 'Z' && entry.state !== 'X';
}

/** Resolves true as soon as none of the processes runs, false when that takes too long. */
export async function gone(pids: readonly number[], withinMs = 20_000): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (pids.some(alive)) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return true;
}

/** The numbers in a text such as `pids 12 13`. */
export function numbers(text: string): number[] {
  return [...text.matchAll(/\d+/g)].map((match) => Number(match[0]));
}

/** A process and everything below it, as the machine sees them. */
export function familyOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        return [{ pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) }];
      } catch {
        return [];
      }
    });
  const family = [pid];
  for (const member of family)
    family.push(...parents.filter(({ parent }) => parent === member).map((each) => each.pid));
  return family;
}

/** The namespaces of a process, but for those that a room shares with the machine. */
export function namespacesOf(pid: number | 'self'): string[] {
  return ['user', 'mnt', 'pid', 'ipc', 'uts', 'net'].map((name) => readlinkSync(`/proc/${pid}/ns/${name}`));
}
