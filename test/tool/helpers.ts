import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import {
  createToolExecutor,
  type ExecuteToolResponse,
  type ToolExecutor,
  type ToolExecutorOptions,
} from '../../dist/tool/index.js';
import { TestRegistry } from './registry.js';

const scratchFolders: string[] = [];
// Registered with the file, because nothing can be registered any more while a test runs.
afterAll(() => {
  for (const folder of scratchFolders) rmSync(folder, { recursive: true, force: true });
});

/** A folder that is gone after the tests of a file. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-tool-test-'));
  scratchFolders.push(folder);
  return folder;
}

/** A registry and an executor of the built package that are ended after the tests of a file. */
export async function toolBench(
  options: Partial<ToolExecutorOptions> = {},
): Promise<{ readonly registry: TestRegistry; readonly executor: ToolExecutor; readonly cacheDir: string }> {
  const registry = await TestRegistry.start();
  const cacheDir = scratchFolder();
  const executor = createToolExecutor({ cacheDir, registry: registry.url, ...options });
  afterAll(async () => {
    await executor.dispose();
    await registry.close();
  });
  return { registry, executor, cacheDir };
}

/** Trees that are being built in a cache folder, by whichever server. */
export function drafts(cacheDir: string): string[] {
  const folder = join(cacheDir, 'tmp');
  return readdirSync(folder).flatMap((server) => readdirSync(join(folder, server)).filter((name) => name !== 'owner'));
}

/** The error of an answer that must be one. */
export function errorOf(response: ExecuteToolResponse): {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
} {
  if (response.success) throw new Error(`expected a failure, got ${JSON.stringify(response.output)}`);
  const { code, message, details = {} } = response.error;
  return { code, message, details };
}

/** The output of an answer that must have one. */
export function outputOf(response: ExecuteToolResponse): unknown {
  if (!response.success) throw new Error(`expected an output, got ${JSON.stringify(response.error)}`);
  return response.output;
}

/** Whether a process is there and not merely waiting to be reaped. */
export function isRunning(pid: number): boolean {
  try {
    const state = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1];
    return state !== 'Z' && state !== 'X';
  } catch {
    return false;
  }
}
