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
async function serve(registryPort: number, ...args: string[]): Promise<Target> {
  const registry = ['--registry', `http://127.0.0.1:${registryPort}/`];
  const child = spawn(process.execPath, [SALLYPORT, ...args, '--port', '0', '--cache-dir', scratch(), ...registry], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'] ?? '',
      LOG_LEVEL: 'error',
      EXECUTOR_API_KEY: KEY,
    },
  });
  onTestFinished(() => stop(child));
  const url = await firstAddress(child);
  return { kind: 'url', url, token: KEY };
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
    const port = await freePort();
    const target = await serve(port, 'serve-tools', '--isolation', level);
    const found = await judged('executor', target, { settings: { 'registry-port': String(port) } });
    expect(found).toEqual({ failures: [], skipped: [] });
  });

  it.each(['process', 'auto'])('of serve, at the level %s', async (level) => {
    const port = await freePort();
    const target = await serve(port, 'serve', '--isolation', level);
    const found = await judged('executor', target, { settings: { 'registry-port': String(port) } });
    expect(found).toEqual({ failures: [], skipped: [] });
  });
});
