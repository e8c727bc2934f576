import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createPlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type RunOptions, runSuite, type Target } from '../../src/conformance/index.js';
import { SALLYPORT } from '../e2e/command.js';
import { freePort } from '../flawed/free-port.js';
import { startFlawed } from '../flawed/start.js';
import { alive } from '../sandbox/helpers.js';
import { runPing, script } from './ping-suite.js';

/** Everything else on the machine may be busy as well. */
const TIMEOUT_MS = 120_000;
const EXEC_SERVER = new URL('../flawed/exec-server/program.mjs', import.meta.url);
const EXECUTOR = new URL('../flawed/executor/program.mjs', import.meta.url);
const PATH = process.env['PATH'] ?? '';

/** A folder whose name nothing else bears. */
function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-leftovers-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function textOf(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

/** The processes that run in a folder, or that have its name in their environment. */
function processesOf(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid)
    .filter(
      (pid) =>
        textOf(() => readlinkSync(`/proc/${pid}/cwd`)) === folder ||
        textOf(() => readFileSync(`/proc/${pid}/environ`, 'latin1')).includes(folder),
    )
    .filter(alive);
}

/** What is left of a run: the files of its folder, and its processes, as people read them. */
function left(folder: string, but: readonly number[] = []): string[] {
  const running = processesOf(folder).filter((pid) => !but.includes(pid));
  const command = (pid: number): string => textOf(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1'));
  return [...readdirSync(folder), ...running.map((pid) => `${pid} ${command(pid).replaceAll('\0', ' ')}`)];
}

const failed = async (suite: string, target: Target, options: RunOptions) => {
  const { outcomes } = await runSuite(suite, target, options);
  return outcomes.filter(({ verdict }) => verdict.status === 'failed').map(({ check }) => check.id);
};

/** A command that leaves a process in a session of its own, says so in a file of its folder and then does as it is told. */
function leaver(folder: string, then: string): Target {
  const code = `
    const child = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    child.unref();
    ${then}
  `;
  return { kind: 'command', argv: [process.execPath, '-e', code], env: { PATH, LEFTOVERS: folder } };
}

const HANGS = `process.on('SIGTERM', () => {}); process.stdin.resume(); setInterval(() => {}, 1000);`;
const DIES = `child.on('spawn', () => process.kill(process.pid, 'SIGKILL'));`;

describe('a suite leaves nothing behind', { timeout: TIMEOUT_MS }, () => {
  it.each([
    ['none', 'both', ['exec-server.terminate', 'exec-server.files', 'exec-server.end']],
    ['nothing-is-ended', 'both', ['exec-server.terminate', 'exec-server.end', 'exec-server.later.sandbox-type']],
    ['terminate-forgets-children', 'first', ['exec-server.terminate']],
    ['processes-outlive-the-connection', 'first', ['exec-server.end', 'exec-server.start.answer']],
    ['nothing-is-removed', 'later', ['exec-server.files']],
  ])('of an exec-server at an address with the flaw %s', async (flaw, dialect, only) => {
    const folder = scratch();
    const { target, stop } = await startFlawed(EXEC_SERVER, flaw);
    onTestFinished(async () => stop?.());
    const found = await failed('exec-server', target, { limitMs: 8_000, only, settings: { dialect, folder } });
    expect(found.length > 0).toBe(flaw !== 'none');
    expect(left(folder)).toEqual([]);
  });

  it.each([
    ['nothing-is-ended', 'first', ['exec-server.terminate.all-of-it', 'exec-server.end.disconnect']],
    ['nothing-is-removed', 'later', ['exec-server.files.copy-remove', 'exec-server.files.walk']],
    ['stays-when-its-input-ends', 'first', ['exec-server.end.input']],
  ])('of an exec-server on stdio with the flaw %s', async (flaw, dialect, only) => {
    const folder = scratch();
    const argv = [process.execPath, fileURLToPath(EXEC_SERVER), '--flaw', flaw, '--stdio'];
    const target: Target = { kind: 'command', argv, env: { PATH, LEFTOVERS: folder } };
    const found = await failed('exec-server', target, { limitMs: 8_000, only, settings: { dialect, folder } });
    expect(found.length).toBeGreaterThan(0);
    expect(left(folder)).toEqual([]);
  });

  it.each([
    ['hangs', HANGS],
    ['dies', DIES],
  ])('of a command that %s, in any suite', async (_, then) => {
    const only: Record<string, string> = {
      runner: 'runner.session.one-done',
      host: 'host.execute',
      wasm: 'wasm.calls',
      'wasm-host': 'wasm-host.calls',
      'exec-server': 'exec-server.terminate.all-of-it',
    };
    for (const [suite, check] of Object.entries(only)) {
      const folder = scratch();
      const settings = suite === 'exec-server' ? { folder } : {};
      const limitMs = 1_000;
      const found = await failed(suite, leaver(folder, then), { limitMs, only: [check], settings, jobs: 8 });
      expect([suite, found.length > 0]).toEqual([suite, true]);
      expect([suite, left(folder)]).toEqual([suite, []]);
    }
  });

  it('of an executor that ends and removes nothing, and frees the port of its registry', async () => {
    const folder = scratch();
    const port = await freePort();
    const flaws = 'keeps-files,keeps-processes';
    const args = ['--registry', `http://127.0.0.1:${port}/`];
    const { target, stop } = await startFlawed(EXECUTOR, flaws, { args, env: { TMPDIR: folder } });
    onTestFinished(async () => stop?.());
    const programs = processesOf(folder);
    const settings = { 'registry-port': String(port) };
    const found = await failed('executor', target, {
      settings,
      only: ['executor.cleanup', 'executor.timeouts.cleanup'],
    });
    expect(found).toContain('executor.cleanup.files');
    expect(found).toContain('executor.cleanup.processes');
    const files = readdirSync(folder, { recursive: true }).map(String);
    expect(files.filter((name) => /(?:^|\/)conformance-/.test(name))).toEqual([]);
    const running = processesOf(folder).filter((pid) => !programs.includes(pid));
    expect(running).toEqual([]);
    await expect(listens(port)).resolves.toBe(true);
  });

  it('of an executor that never answers, or never ends its answer', async () => {
    for (const answer of ['nothing', 'endless'] as const) {
      const server = createServer((_, response) => void (answer === 'endless' && response.writeHead(200).write('{')));
      onTestFinished(() => void server.close().closeAllConnections());
      const port = await listen(server);
      const only = ['executor.health'];
      const target: Target = { kind: 'url', url: `http://127.0.0.1:${port}` };
      expect((await failed('executor', target, { only, limitMs: 500 })).length).toBeGreaterThan(0);
      await expect.poll(() => connectionsOf(server)).toBe(0);
    }
  });

  it('of an exec-server that answers the upgrade of a web page with a page without end', async () => {
    const server = createServer((_, response) => void response.writeHead(200).write('<p>'));
    server.on('upgrade', (_, socket) => {
      socket.on('error', () => {}).on('end', () => socket.end());
      socket.resume().write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n<p>');
    });
    onTestFinished(() => void server.close().closeAllConnections());
    const port = await listen(server);
    const target: Target = { kind: 'url', url: `ws://127.0.0.1:${port}` };
    await failed('exec-server', target, { only: ['exec-server.wire.web-pages'], limitMs: 1_000 });
    await expect.poll(() => connectionsOf(server)).toBe(0);
  });

  it('when it is stopped in the middle of a check', async () => {
    const folder = scratch();
    const stop = new AbortController();
    const running = runPing(leaver(folder, HANGS), { signal: stop.signal, limitMs: 60_000 });
    await expect.poll(() => processesOf(folder).length, { timeout: 30_000 }).toBeGreaterThanOrEqual(2);
    stop.abort();
    expect((await running).outcomes).toEqual([]);
    expect(left(folder)).toEqual([]);
  });

  it('when the function that hears of outcomes throws', async () => {
    const folder = scratch();
    const thrown = new Error('enough');
    const onOutcome = () => {
      throw thrown;
    };
    const target = leaver(folder, `${HANGS} process.stdin.on('end', () => process.exit(0));`);
    await expect(runPing(target, { onOutcome, jobs: 4, limitMs: 60_000 })).rejects.toBe(thrown);
    expect(left(folder)).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGKILL', null],
  ] as const)('when the command is ended with %s', async (signal, code) => {
    const folder = scratch();
    const only = ['--only', 'exec-server.terminate.all-of-it', '--folder', folder, '--timeout', '60000'];
    const target = [process.execPath, fileURLToPath(EXEC_SERVER), '--flaw', 'nothing-is-ended', '--stdio'];
    const argv = [SALLYPORT, 'conformance', 'exec-server', ...only, '--', ...target];
    const child = spawn(process.execPath, argv, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH, LEFTOVERS: folder },
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    await expect.poll(() => beats(folder), { timeout: 30_000 }).toBe(true);
    child.kill(signal);
    expect(await ended).toBe(code);
    expect(said).toBe(code === null ? '' : 'sallyport: interrupted after 0 of 1 checks\n');
    // Of a killed one the guardian takes care, a moment later.
    if (code === null) await expect.poll(() => left(folder), { timeout: 30_000 }).toEqual([]);
    else expect(left(folder)).toEqual([]);
  });
});

describe('a suite cleans up after itself alone', () => {
  it('and ends no process that another check has started', async () => {
    const folder = scratch();
    const stop = new AbortController();
    const other = runPing(leaver(folder, HANGS), { signal: stop.signal, limitMs: 60_000, jobs: 1 });
    await expect.poll(() => processesOf(folder).length, { timeout: 30_000 }).toBe(2);
    await runPing(script(`onPing(() => say({ type: 'pong' }));`));
    expect(processesOf(folder).length).toBe(2);
    stop.abort();
    await other;
  });
});

/** Whether the process of the check gives signs of life. */
function beats(folder: string): boolean {
  return readdirSync(folder, { recursive: true }).some((name) => String(name).endsWith('/beats'));
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    }),
  );
}

/** Whether a port is free now. */
function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createPlainServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  );
}
