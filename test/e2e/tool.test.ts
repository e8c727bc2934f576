import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ToolClient } from '../../dist/tool/index.js';
import { here } from '../sandbox/container/rooms.js';
import { TestRegistry } from '../tool/registry.js';
import { SALLYPORT, sallyport } from './command.js';

// Many processes are started here; a busy machine takes its time.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const folder = mkdtempSync(join(tmpdir(), 'sallyport-tool-e2e-'));
let registry: TestRegistry;
beforeAll(async () => {
  registry = await TestRegistry.start();
  registry.tool(
    'cli-tool',
    `
    export const echo = { execute: (params) => { console.log('printed \\x1b[31m'); return params; } };
    export const text = { execute: () => 'plain text' };
    export const key = { execute: () => process.env.TOKEN };
    export const fail = { execute: () => { throw new Error('it broke'); } };
    export const slow = { execute: () => new Promise((resolve) => setTimeout(resolve, 60000)) };
  `,
  );
});
afterAll(async () => {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});
const tool = (args: readonly string[], input?: string) =>
  sallyport(
    ['tool', ...args, '--registry', registry.url, '--cache-dir', join(folder, 'cache')],
    input === undefined ? {} : { input },
  );

describe('sallyport tool', () => {
  it('prints the result on standard output and nothing else', async () => {
    const echo = await tool(['cli-tool', 'echo', '{"a":[1,2]}']);
    expect(echo.stderr).toBe('printed  [31m\n');
    expect(JSON.parse(echo.stdout)).toEqual({ a: [1, 2] });
    expect(echo.code).toBe(0);
    expect(await tool(['cli-tool@1.0.0', 'text'])).toMatchObject({ code: 0, stdout: 'plain text\n', stderr: '' });
  });

  it('leaves the async executions of a server alone that has the same cache folder', () => {
    expect(existsSync(join(folder, 'cache', 'trees'))).toBe(true);
    expect(readdirSync(join(folder, 'cache')).filter((name) => name.startsWith('executions'))).toEqual([]);
  });

  it('takes parameters from a file and from standard input, and variables', async () => {
    writeFileSync(join(folder, 'params.json'), '{"from":"file"}');
    expect(JSON.parse((await tool(['cli-tool', 'echo', `@${join(folder, 'params.json')}`])).stdout)).toEqual({
      from: 'file',
    });
    expect(JSON.parse((await tool(['cli-tool', 'echo', '-'], '{"from":"stdin"}')).stdout)).toEqual({ from: 'stdin' });
    expect((await tool(['cli-tool', 'key', '--env', 'TOKEN=a=b'])).stdout).toBe('a=b\n');
  });

  it.runIf(here.available)('runs confined unless told otherwise', async () => {
    registry.tool(
      'where',
      `import { existsSync } from 'node:fs'; export const am = { execute: () => existsSync('${folder}/params.json') };`,
    );
    writeFileSync(join(folder, 'params.json'), '{}');
    expect((await tool(['where', 'am'])).stdout).toBe('false\n');
    expect((await tool(['where', 'am', '--isolation', 'process'])).stdout).toBe('true\n');
  });

  it('says what went wrong, with exit codes that mean something', async () => {
    expect(await tool(['cli-tool', 'fail'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'sallyport: Tool threw an error: it broke (TOOL_EXECUTION_ERROR)\n',
    });
    expect(await tool(['cli-tool', 'slow', '--timeout', '500ms'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('EXECUTION_TIMEOUT'),
    });
    expect((await tool(['no-such', 'x'])).stderr).toContain('PACKAGE_NOT_FOUND');
    expect((await tool(['../x', 'x'])).code).toBe(2);
    expect((await tool(['cli-tool', 'echo', '{'])).code).toBe(2);
    expect((await tool(['cli-tool', 'echo', '@/no/such/file'])).code).toBe(2);
    const json = await tool(['cli-tool', 'fail', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      success: false,
      error: { code: 'TOOL_EXECUTION_ERROR' },
      cache: 'hit',
    });
    expect(json.code).toBe(1);
  });
});

describe('sallyport serve-tools', () => {
  it('serves, refuses strangers, and ends on SIGTERM', async () => {
    const server = spawn(
      process.execPath,
      [SALLYPORT, 'serve-tools', '--port', '0', '--registry', registry.url, '--cache-dir', join(folder, 'cache')],
      {
        env: { PATH: process.env['PATH'], EXECUTOR_API_KEY: 'the-key' },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let log = '';
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    const url = (
      await new Promise<string>((resolve) => server.stdout.setEncoding('utf8').once('data', resolve))
    ).trim();
    expect(await new ToolClient(url).health()).toMatchObject({ status: 'ok' });
    // The best there is, and said so.
    const level = here.available ? 'container' : 'process';
    expect(await new ToolClient(url).info()).toMatchObject({
      capabilities: {
        isolation: level,
        confinedBy: expect.stringContaining(here.available ? 'namespaces' : 'this user'),
      },
    });
    expect(log).toContain(`"level":"${level}"`);
    await expect(new ToolClient(url).execute({ packageName: 'cli-tool', name: 'text' })).rejects.toMatchObject({
      facts: { status: 401 },
    });
    const client = new ToolClient(url, { apiKey: 'the-key' });
    expect(
      await client.execute({ packageName: 'cli-tool', name: 'text', env: { TOKEN: 'request-secret' } }),
    ).toMatchObject({ success: true, output: 'plain text' });
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(log).not.toContain('the-key');
    expect(log).not.toContain('request-secret');
  });

  it('refuses a public address without a key', async () => {
    const refused = await sallyport(['serve-tools', '--host', '0.0.0.0']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('EXECUTOR_API_KEY');
  });

  it('refuses a level that there is none of, and one that this machine cannot hold', async () => {
    const serve = ['serve-tools', '--port', '0', '--cache-dir', join(folder, 'cache'), '--isolation'];
    const unknown = await sallyport([...serve, 'vm']);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('Allowed choices are auto, process, container');
    // Without its tools no machine can.
    for (const args of [
      [...serve, 'container'],
      ['tool', 'cli-tool', 'text', '--isolation', 'container'],
    ]) {
      const refused = await sallyport(args, { env: { PATH: '/nonexistent' } });
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toMatch(/^sallyport: the isolation level "container" is not available: .*bwrap.*\n$/);
    }
    const wish = await sallyport([...serve, 'auto', '--net', 'none'], { env: { PATH: '/nonexistent' } });
    expect(wish).toMatchObject({ code: 2, stderr: expect.stringContaining('--net needs the level container') });
  });
});
