import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Target } from '../../src/conformance/index.js';
import { SALLYPORT } from '../e2e/command.js';
import { freePort } from '../flawed/free-port.js';
import { here } from '../sandbox/container/rooms.js';
import { KEY, scratch } from '../server/start.js';
import { judged, SUITE_TIMEOUT_MS } from './passes.js';

/** The levels that the command offers here. */
const LEVELS = ['process', ...(here.available ? ['container'] : [])];

/** Starts a command of the built package that prints the address it serves. */
async function serve(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Target> {
  const child = spawn(process.execPath, [SALLYPORT, ...args, '--port', '0', '--cache-dir', scratch()], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, PATH: process.env['PATH'] ?? '', LOG_LEVEL: 'error', EXECUTOR_API_KEY: KEY },
  });
  onTestFinished(() => stop(child));
  const url = await firstAddress(child);
  return { kind: 'url', url, token: KEY };
}

/** The failures of a command that installs from the suite's own registry, and what was skipped. */
async function judgedWithRegistry(...args: string[]) {
  const port = await freePort();
  const target = await serve([...args, '--registry', `http://127.0.0.1:${port}/`]);
  return await judged('executor', target, { settings: { 'registry-port': String(port) } });
}

function firstAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
        if (found !== null) resolve(found[0]);
      });
    }
    child.once('exit', (code) => reject(new Error(`it ended with ${code} before it served`)));
  });
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await ended;
}

describe('the built executor passes all checks', { timeout: SUITE_TIMEOUT_MS }, () => {
  it.each(LEVELS)('of serve-tools, at the level %s', async (level) => {
    expect(await judgedWithRegistry('serve-tools', '--isolation', level)).toEqual({ failures: [], skipped: [] });
  });

  it.each(['process', 'auto'])('of serve, at the level %s', async (level) => {
    expect(await judgedWithRegistry('serve', '--isolation', level)).toEqual({ failures: [], skipped: [] });
  });

  it('that tools of the public registry can show, without a registry of the suite', async () => {
    // How the registry is reached from here is in the environment, and in what npm is told.
    const target = await serve(['serve-tools'], process.env);
    const only = ['executor.execute', 'executor.resolution'];
    const { failures, skipped } = await judged('executor', target, { only, limitMs: 120_000 });
    expect(failures).toEqual([]);
    for (const name of ['params', 'output', 'unscoped', 'tool-error', 'version-not-found', 'tool-invalid']) {
      expect(skipped).not.toContain(`executor.execute.${name}`);
    }
  });
});
