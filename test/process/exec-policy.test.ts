import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createExecServer, ExecClient, execPolicy } from '../../src/process/index.js';
import { DEFAULT_LIMITS, ownPackageFolder } from '../../src/sandbox/index.js';

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-policy-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'work/sub'), { recursive: true });
  mkdirSync(join(folder, 'cache'));
  return folder;
}

describe('execPolicy', () => {
  it('grants the real working folder of a command, no network, and the usual limits', () => {
    const folder = scratch();
    symlinkSync(join(folder, 'work'), join(folder, 'link'));
    const policy = execPolicy();
    expect(policy.workingFolder(join(folder, 'link/sub'))).toBe(join(folder, 'work/sub'));
    expect(policy.forCommand({ cwd: join(folder, 'link') })).toEqual({
      filesystem: { read: [], write: [join(folder, 'work')], hide: [] },
      network: { kind: 'none' },
      limits: DEFAULT_LIMITS,
    });
    expect(policy.forCommand({ cwd: '/' }).filesystem.write).toEqual([]);
  });

  it('grants the named workspace around the folder, with what was configured', () => {
    const folder = scratch();
    symlinkSync(join(folder, 'work'), join(folder, 'link'));
    const network = { kind: 'allow', hosts: ['example.com:443'] } as const;
    const policy = execPolicy({ workspace: [join(folder, 'link')], network, limits: { processes: 7 } });
    expect(policy.forCommand({ cwd: join(folder, 'work/sub') })).toEqual({
      filesystem: { read: [], write: [join(folder, 'work')], hide: [] },
      network,
      limits: { ...DEFAULT_LIMITS, processes: 7 },
    });
    expect(() => policy.forCommand({ cwd: folder })).toThrow(/none of the workspaces/);
  });

  it('refuses the places of the machine, in words that say what to do', () => {
    const folder = scratch();
    const policy = execPolicy({ protect: [join(folder, 'cache')] });
    symlinkSync(join(folder, 'cache'), join(folder, 'work/link'));
    for (const cwd of [homedir(), folder, join(folder, 'cache'), join(folder, 'work/link'), '/sys']) {
      expect(() => policy.workingFolder(cwd), cwd).toThrow(/as a workspace/);
    }
    const own = policy.forCommand({ cwd: ownPackageFolder() });
    expect(own.filesystem).toMatchObject({ read: [ownPackageFolder()], write: [] });
    expect(() => policy.workingFolder(join(folder, 'work/nothing'))).toThrow(/ENOENT/);
    writeFileSync(join(folder, 'work/file'), '');
    expect(() => policy.workingFolder(join(folder, 'work/file'))).toThrow(/ENOTDIR/);
    // Not even whether it is there.
    expect(() => policy.workingFolder(join(folder, 'cache/nothing'))).toThrow(/as a workspace/);
  });

  it('refuses workspaces that cannot be ones', () => {
    const folder = scratch();
    writeFileSync(join(folder, 'file'), '');
    const named = (workspace: string) => () => execPolicy({ workspace: [workspace], protect: [join(folder, 'cache')] });
    for (const workspace of [join(folder, 'nothing'), join(folder, 'file'), folder, join(folder, 'cache'), '/']) {
      expect(named(workspace), workspace).toThrow(expect.objectContaining({ code: 'POLICY_INVALID' }));
    }
    expect(named(join(folder, 'work'))).not.toThrow();
  });
});

describe('createExecServer with a policy', () => {
  async function page(): Promise<string> {
    const web = createServer((_request, response) => response.end('there'));
    onTestFinished(() => void web.close());
    await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
    return `127.0.0.1:${(web.address() as AddressInfo).port}`;
  }
  async function clientOf(options: Parameters<typeof createExecServer>[0]): Promise<ExecClient> {
    const server = createExecServer(options);
    onTestFinished(() => server.dispose());
    return ExecClient.connectInProcess(server);
  }

  it('lets http/request go where the network of the policy leads, and nowhere else', async () => {
    const host = await page();
    const none = await clientOf({ level: 'container', policy: execPolicy() });
    await expect(none.httpRequest(`http://${host}/`)).rejects.toThrow(/is none/);
    const listed = execPolicy({ network: { kind: 'allow', hosts: [host] } });
    const some = await clientOf({ level: 'container', policy: listed });
    expect((await some.httpRequest(`http://${host}/`)).status).toBe(200);
    await expect(some.httpRequest('http://unlisted.example/')).rejects.toThrow(/not on the list/);
    const hooked = await clientOf({
      level: 'container',
      policy: execPolicy(),
      networkPolicy: ({ address }) => (address === '127.0.0.1' ? { allow: true } : { allow: false, reason: 'far' }),
    });
    expect((await hooked.httpRequest(`http://${host}/`)).status).toBe(200);
  });

  it('switches fs/* and http/request off where a level confines commands and no policy says what they reach', async () => {
    const client = await clientOf({ level: 'container' });
    await expect(client.httpRequest('http://127.0.0.1:1/')).rejects.toThrow(/switched off/);
    expect(() => client.fs).toThrow(/switched off/);
  });
});
