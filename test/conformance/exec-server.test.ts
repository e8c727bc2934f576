import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { countOf, type RunOptions, runSuite, type Target } from '../../src/conformance/index.js';
import { SALLYPORT } from '../e2e/command.js';
import { launchServer } from '../process/raw-client.js';
import { here } from '../sandbox/container/rooms.js';
import { hashKey, KEY, start } from '../server/start.js';

/** A whole suite in both dialects, with one or two processes for each check. */
const SUITE_TIMEOUT_MS = 480_000;
/** Everything else on the machine may be busy as well. */
const LIMIT_MS = 30_000;
/** Checks that no target on that transport can be asked. */
const WEBSOCKET_SKIPS = ['exec-server.wire.lines', 'exec-server.wire.blank-lines', 'exec-server.end.input'];
const PIPE_SKIPS = [
  'exec-server.wire.text-frames',
  'exec-server.wire.binary-frames',
  'exec-server.wire.web-pages',
  'exec-server.end.others-live',
  'exec-server.later.resume',
  'exec-server.later.resume-attached',
];
const LATER_ONLY = /^exec-server\.(?:later|files|http)\./;
const FIRST_ONLY = /^exec-server\.(?:wire\.(?:example|no-more-fields)|end\.disconnect)$/;
/** The suite's own page is on an address that a confined process has no way to. */
const CONFINED_SKIPS = ['exec-server.http.request', 'exec-server.http.stream'];

/** The levels that the built command offers. */
const help = execFileSync(process.execPath, [SALLYPORT, 'exec-server', '--help'], { encoding: 'utf8' });
const LEVELS = help.includes('--isolation') && here.available ? ['process', 'container'] : ['process'];

/** A folder that commands at every level can write to, and how the command is told of it. */
function workspace(level: string): { folder: string; args: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-conformance-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, args: level === 'process' ? [] : ['--isolation', level, '--workspace', folder] };
}

/** What did not pass, with how it failed, and the ids of what was skipped. */
async function judge(target: Target, folder: string, options: RunOptions = {}) {
  const settings = { dialect: 'both', folder, ...options.settings };
  const { outcomes } = await runSuite('exec-server', target, { limitMs: LIMIT_MS, ...options, settings });
  const of = (status: string) => outcomes.filter(({ verdict }) => verdict.status === status);
  expect(countOf(outcomes).passed).toBeGreaterThan(0);
  return {
    failed: of('failed').map(({ check, verdict }) => [check.id, verdict]),
    skipped: of('skipped').map(({ check }) => check.id),
  };
}

describe('the built exec-server passes all checks', { timeout: SUITE_TIMEOUT_MS }, () => {
  // Every check costs a process here, two in both dialects: what both have in common is tried in one.
  it.each([
    ['first', []],
    ['later', ['wire', 'handshake', 'end', 'errors', 'later', 'files', 'http'].map((area) => `exec-server.${area}`)],
  ])('on a pipe, in the %s dialect', async (dialect, only) => {
    const { folder } = workspace('process');
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
    const target: Target = { kind: 'command', argv: [process.execPath, SALLYPORT, 'exec-server'], env };
    const { failed, skipped } = await judge(target, folder, { only, settings: { dialect } });
    expect(failed).toEqual([]);
    const other = dialect === 'first' ? LATER_ONLY : FIRST_ONLY;
    expect(skipped.filter((id) => !PIPE_SKIPS.includes(id) && !other.test(id))).toEqual([]);
  });

  it.each(LEVELS)('on a WebSocket, at the level %s', async (level) => {
    const { folder, args } = workspace(level);
    const { server, dispose } = await launchServer(['--listen', 'ws://127.0.0.1:0', ...args]);
    onTestFinished(dispose);
    const { failed, skipped } = await judge({ kind: 'url', url: server.url }, folder, { jobs: 4 });
    expect(failed).toEqual([]);
    expect(skipped).toEqual(level === 'process' ? WEBSOCKET_SKIPS : [...WEBSOCKET_SKIPS, ...CONFINED_SKIPS]);
  });

  it.each(LEVELS)('behind WS /exec of the server, with a key, at the level %s', async (level) => {
    const { folder } = workspace('process');
    const isolation = level === 'container' ? 'container' : 'process';
    const { url } = await start({ isolation, workspace: [folder], keys: [{ name: 'default', hash: hashKey(KEY) }] });
    const target: Target = { kind: 'url', url: `${url.replace('http', 'ws')}/exec`, token: KEY };
    const { failed, skipped } = await judge(target, folder, { jobs: 4 });
    expect(failed).toEqual([]);
    expect(skipped).toEqual(level === 'process' ? WEBSOCKET_SKIPS : [...WEBSOCKET_SKIPS, ...CONFINED_SKIPS]);
  });

  it('behind WS /exec of a server without keys, which web pages cannot use', async () => {
    const { url } = await start({ isolation: 'process' });
    const target: Target = { kind: 'url', url: `${url.replace('http', 'ws')}/exec` };
    const { failed } = await judge(target, tmpdir(), { only: ['exec-server.wire'] });
    expect(failed).toEqual([]);
  });
});
