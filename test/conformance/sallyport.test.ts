import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Target } from '../../src/conformance/index.js';
import { SALLYPORT } from '../e2e/command.js';
import { fencesOf, filesOf } from '../e2e/markdown.js';
import { listenRunner } from '../guest/listening-runner.js';
import { here } from '../sandbox/container/rooms.js';
import { hashKey, KEY, start } from '../server/start.js';
import { failures, SUITE_TIMEOUT_MS } from './passes.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The levels that the command offers here. */
const LEVELS = ['thread', 'process', ...(here.available ? ['container'] : [])];

const env = { PATH: process.env['PATH'] ?? '' };
const runner = (...args: string[]): Target => ({
  kind: 'command',
  argv: [process.execPath, SALLYPORT, 'runner', ...args],
  env,
});

describe('the built runner passes all checks', { timeout: SUITE_TIMEOUT_MS }, () => {
  it.each(LEVELS)('on a WebSocket, with guests at the level %s', async (isolation) => {
    const { url, stop } = await listenRunner({}, ['--isolation', isolation]);
    onTestFinished(async () => void (await stop()));
    expect(await failures('runner', { kind: 'url', url }, { jobs: 4 })).toEqual([]);
  });

  it('on a pipe, with guests in threads', async () => {
    expect(await failures('runner', runner())).toEqual([]);
  });

  it('on a pipe, with guests in processes: those in which the pipe matters', async () => {
    const only = ['runner.session', 'runner.cancel'];
    expect(await failures('runner', runner('--isolation', 'process'), { only })).toEqual([]);
  });

  it.each(['process', 'auto'] as const)('behind WS /guest of the server, at the level %s', async (isolation) => {
    const { url } = await start({ isolation, keys: [{ name: 'default', hash: hashKey(KEY) }] });
    const target: Target = { kind: 'url', url: `${url.replace('http', 'ws')}/guest`, token: KEY };
    expect(await failures('runner', target, { jobs: 4 })).toEqual([]);
  });
});

/** The adapter of the document, in a folder that has this package installed. */
async function adapter(): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-adapter-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'sallyport'));
  const document = readFileSync(join(ROOT, 'docs', 'conformance.md'), 'utf8');
  for (const [name, text] of filesOf(fencesOf(document))) writeFileSync(join(folder, name), text);
  return { kind: 'command', argv: [process.execPath, join(folder, 'host-adapter.mjs')], env };
}

describe('the built host passes all checks', { timeout: SUITE_TIMEOUT_MS }, () => {
  it('behind the adapter of the document', async () => {
    expect(await failures('host', await adapter())).toEqual([]);
  });
});
