import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ExecClient } from '../../src/process/index.js';
import { GUEST_POLICY } from '../../src/sandbox/index.js';
import { resolveConfinement } from '../../src/server/index.js';
import { here, testRefusalWithoutRooms } from '../sandbox/container/rooms.js';
import { scratch, start } from './start.js';

testRefusalWithoutRooms();

const POLICIES = { guest: GUEST_POLICY, wasm: GUEST_POLICY, tool: GUEST_POLICY, process: GUEST_POLICY };

describe('what confines the boundaries', () => {
  const resolved = async (asked: 'auto' | 'process' | 'container') => {
    const found = await resolveConfinement(asked, POLICIES);
    if (!found.ok) return found.reason;
    await Promise.all(Object.values(found.confinement.spawners).map((spawner) => spawner.dispose()));
    return found.confinement.isolation;
  };

  it.runIf(here.available)('is the best there is, unless told otherwise', async () => {
    const strong = { wasm: 'container', tool: 'container', process: 'container' };
    expect(await resolved('auto')).toMatchObject({ levels: { ...strong, guest: 'process' }, shortfall: undefined });
    expect(await resolved('container')).toMatchObject({
      levels: { ...strong, guest: 'container' },
      limits: { tmpBytes: 'whole tree' },
    });
  });

  it('is a process each where that is asked for', async () => {
    expect(await resolved('process')).toMatchObject({
      levels: { guest: 'process', wasm: 'process', tool: 'process', process: 'process' },
      limits: undefined,
      shortfall: undefined,
    });
  });

  it('is never weaker than asked for, and says why it is not stronger', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'sallyport-empty-'));
    onTestFinished(() => rmSync(empty, { recursive: true }));
    vi.stubEnv('PATH', empty);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await resolved('container')).toMatch(/the level container cannot be enforced: .*apt-get install bubblewrap/);
    expect(await resolved('auto')).toMatchObject({
      levels: { process: 'process' },
      shortfall: expect.stringContaining('apt-get install bubblewrap'),
    });
  });
});

/** A server, a folder for commands with a client of it, and a file of somebody else beside that folder. */
async function surroundings(options: Parameters<typeof start>[0]) {
  const [work, elsewhere] = [scratch(), scratch()];
  const secret = join(elsewhere, 'secret');
  writeFileSync(secret, 'the secret\n');
  const started = await start(options);
  const client = await ExecClient.connectWebSocket(`${started.url.replace('http', 'ws')}/exec`);
  onTestFinished(() => client.close());
  const run = async (argv: readonly string[], cwd = work): Promise<{ code: number; text: string }> => {
    const handle = await client.start({ argv, cwd, env: { PATH: '/usr/local/bin:/usr/bin:/bin' } });
    let text = '';
    for await (const piece of handle.output) text += piece.toString();
    return { code: (await handle.wait()).exitCode, text };
  };
  return { ...started, client, run, work, secret };
}

describe.runIf(here.available)('commands of a server', () => {
  it('see their working folder and not what is beside it, by any way that the protocol has', async () => {
    const { run, work, secret, client } = await surroundings({ isolation: 'auto' });
    expect(await run(['sh', '-c', 'echo mine > own && cat own'])).toEqual({ code: 0, text: 'mine\n' });
    expect((await run(['cat', secret])).text).toContain('No such file');
    expect((await run(['sh', '-c', `echo x > ${secret}`])).code).not.toBe(0);
    await expect(client.fs.readFile('/etc/shadow')).rejects.toThrow();
    expect(Buffer.from(await client.fs.readFile(join(work, 'own'))).toString()).toBe('mine\n');
  });

  it('see everything of the user at the level process', async () => {
    const { run, secret } = await surroundings({ isolation: 'process' });
    expect(await run(['cat', secret])).toEqual({ code: 0, text: 'the secret\n' });
  });

  it('cannot work in what the server runs from, or outside of the workspaces that were named', async () => {
    const cacheDir = scratch();
    const { run } = await surroundings({ isolation: 'container', cacheDir });
    await expect(run(['true'], cacheDir)).rejects.toThrow('must not change');
    const workspace = scratch();
    const named = await surroundings({ isolation: 'container', workspace: [workspace] });
    await expect(named.run(['true'])).rejects.toThrow('in none of the workspaces');
    expect((await named.run(['touch', 'x'], workspace)).code).toBe(0);
  });

  it('have their connections in the audit trail, the allowed and the refused', async () => {
    const site = createHttpServer((_request, response) => response.end('hello'));
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    onTestFinished(() => void site.close());
    const { port } = site.address() as AddressInfo;
    const network = { kind: 'allow', hosts: [`127.0.0.1:${port}`] } as const;
    const { run, json } = await surroundings({ isolation: 'container', policies: { process: { network } } });
    const get = (target: string): readonly string[] => [
      process.execPath,
      '-e',
      `require('http').get({ host: '127.0.0.1', port: 3128, path: '${target}' }, (r) => r.pipe(process.stdout))`,
    ];
    expect((await run(get(`http://127.0.0.1:${port}/`))).text).toBe('hello');
    expect((await run(get('http://169.254.169.254/'))).text).toContain('not on the list');
    const { body } = await json('/executions?kind=process');
    const uses = body.executions.flatMap(({ capabilities }: { capabilities: { type: string; outcome: string }[] }) =>
      capabilities.filter(({ type }) => type === 'network').map(({ outcome }) => outcome),
    );
    expect(uses.sort()).toEqual(['allowed', 'denied']);
  });
});

describe.runIf(here.available)('GET /info', () => {
  it('says what each boundary is confined by, and how limits hold', async () => {
    const { json } = await start({ isolation: 'container' });
    const { body } = await json('/info');
    expect(body.capabilities.isolation).toBe('container');
    for (const kind of ['guest', 'wasm', 'tool', 'process']) {
      expect(body.boundaries[kind]).toMatchObject({
        isolation: 'container',
        confinedBy: expect.stringContaining('namespaces'),
      });
    }
    expect(body.confinement).toMatchObject({ asked: 'container', limits: { tmpBytes: 'whole tree' } });
  });

  it('belongs to a server whose programs still work', async () => {
    const { json } = await start({ isolation: 'container' });
    expect((await json('/run', { code: 'return 6 * 7' })).body).toMatchObject({ ok: true, result: 42 });
  });
});
