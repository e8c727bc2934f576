import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { base64, type Message, uri } from '../process/raw-client.js';
import { here, testRefusalWithoutRooms } from '../sandbox/container/rooms.js';
import { buildHouse, LEVELS, type Level, SECRET, Servers } from './house.js';

const house = buildHouse();
const { home, work, notes } = house;
const servers = new Servers(house);
let web: Server;
let webUrl = '';
beforeAll(async () => {
  web = createServer((_request, response) => response.end(SECRET));
  await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
  const address = web.address();
  if (typeof address === 'object' && address !== null) webUrl = `http://127.0.0.1:${address.port}/`;
});
afterAll(() => void web.close());

testRefusalWithoutRooms();

const at = (path: string): string => uri(path.startsWith('/') ? path : join(work, path));
const WALK = { maxDepth: 3, maxDirectories: 100, maxEntries: 1_000, followDirectorySymlinks: true };

describe.runIf(here.available)('fs/* at level container', () => {
  /** Does the same at both levels. */
  async function both(method: string, params: unknown): Promise<{ plain: Message; confined: Message }> {
    const [plain, confined] = [await servers.client('process'), await servers.client('container')];
    return { plain: await plain.call(method, params), confined: await confined.call(method, params) };
  }

  it.each(['/etc/shadow', `${home}/.ssh/key`, notes, 'to-key', 'to-ssh/key', `to-root${notes}`])(
    'does not read %s',
    async (path) => {
      for (const method of ['fs/readFile', 'fs/open', 'fs/getMetadata', 'fs/canonicalize'])
        for (const { plain, confined } of [await both(method, { path: at(path), handleId: method })]) {
          expect(plain.error, method).toBeUndefined();
          // That a link is there is for everybody to see, but not where it leads.
          expect(confined.error, method).toMatchObject({ code: -32004 });
          expect(confined.error.message).toContain('not visible');
        }
    },
  );

  it('does not tell whether something exists that cannot be seen', async () => {
    for (const path of [`${home}/.ssh/key`, `${home}/.ssh/nothing`, `${home}/.ssh/key/nothing`, '/var/lib/x/y']) {
      const { confined } = await both('fs/readFile', { path: at(path) });
      expect(confined.error).toEqual({ code: -32004, message: expect.stringMatching(/is not visible/) });
    }
  });

  it('does not list, walk or copy what commands cannot see', async () => {
    const listed = await both('fs/readDirectory', { path: at('to-ssh') });
    expect([listed.plain.result.entries.length > 0, listed.confined.error?.code]).toEqual([true, -32004]);
    const walked = await both('fs/walk', { path: at('.'), options: WALK });
    const paths = ({ result }: Message): string => JSON.stringify(result.entries);
    expect(paths(walked.plain)).toContain('to-ssh/key');
    expect(paths(walked.confined)).not.toContain('to-');
    expect(paths(walked.confined)).toContain('own');
    const copied = await both('fs/copy', {
      sourcePath: at(`${home}/.ssh`),
      destinationPath: at('stolen'),
      recursive: true,
    });
    expect([copied.plain.error, copied.confined.error?.code]).toEqual([undefined, -32004]);
    const inside = await both('fs/readDirectory', { path: at('.') });
    const names = ({ result }: Message): string[] => result.entries.map((entry: Message) => entry.fileName);
    expect(names(inside.plain)).toContain('to-ssh');
    expect(names(inside.confined)).not.toContain('to-ssh');
  });

  it('does not write, make or remove anything outside of what commands may', async () => {
    const dataBase64 = base64('x');
    const attempts: readonly (readonly [string, Record<string, unknown>])[] = [
      ['fs/writeFile', { path: at(`${home}/.bashrc`), dataBase64 }],
      ['fs/writeFile', { path: at('to-home/.bashrc'), dataBase64 }],
      ['fs/writeFile', { path: at(`${home}/.cache/sallyport/tools/left-pad/index.js`), dataBase64 }],
      ['fs/writeFile', { path: at('to-key'), dataBase64 }],
      ['fs/createDirectory', { path: at(`${home}/.ssh/made/deep`) }],
      ['fs/createDirectory', { path: at('to-ssh/made') }],
      ['fs/copy', { sourcePath: at('own'), destinationPath: at('to-ssh/authorized_keys'), recursive: false }],
      ['fs/remove', { path: at('to-ssh/key') }],
      ['fs/remove', { path: at(`${home}/.ssh`) }],
    ];
    const confined = await servers.client('container');
    for (const [method, params] of attempts) {
      const { error } = await confined.call(method, params);
      expect(error, `${method} ${params['path']}`).toMatchObject({ code: -32600 });
    }
    expect(readFileSync(join(home, '.ssh/key'), 'utf8')).toBe(SECRET);
    expect(readdirSync(join(home, '.ssh'))).not.toContain('made');
    const plain = await servers.client('process');
    for (const [method, params] of attempts) expect((await plain.call(method, params)).error, method).toBeUndefined();
    expect(existsSync(join(home, '.ssh'))).toBe(false);
  });

  it('reads and writes where commands may, and reads what every command sees', async () => {
    const confined = await servers.client('container');
    const write = { path: at('sub/new'), dataBase64: base64('new') };
    expect((await confined.call('fs/writeFile', write)).result).toEqual({});
    expect((await confined.call('fs/createDirectory', { path: at('sub/a/b') })).result).toEqual({});
    const copy = { sourcePath: at('sub'), destinationPath: at('sub2'), recursive: true };
    expect((await confined.call('fs/copy', copy)).result).toEqual({});
    expect(readFileSync(join(work, 'sub2/new'), 'utf8')).toBe('new');
    expect((await confined.call('fs/remove', { path: at('sub2') })).result).toEqual({});
    expect((await confined.call('fs/getMetadata', { path: at('.') })).result.isDirectory).toBe(true);
    expect((await confined.call('fs/readFile', { path: at('/usr/bin/env') })).result.dataBase64.length).toBeGreaterThan(
      100,
    );
    expect((await confined.call('fs/writeFile', { path: at('/usr/bin/x'), dataBase64: '' })).error.code).toBe(-32600);
  });
});

describe.runIf(here.available)('http/request at level container', () => {
  it('has the network of commands: none', async () => {
    const ask = async (level: Level) =>
      (await servers.client(level)).call('http/request', { method: 'GET', url: webUrl, headers: [], requestId: 'r' });
    expect(Buffer.from((await ask('process')).result.bodyBase64, 'base64').toString()).toBe(SECRET);
    expect((await ask('container')).error).toMatchObject({ code: -32600, message: expect.stringContaining('none') });
  });
});

describe.runIf(here.available)('a sandbox that a client describes', () => {
  const managed = (file_system: unknown) => ({ permissions: { type: 'managed', file_system, network: 'restricted' } });
  const READ_ALL = { path: { type: 'special', value: { kind: 'root' } }, access: 'read' };
  const READ_ONLY = managed({ type: 'restricted', entries: [READ_ALL] });

  it.each([
    [{ permissions: { type: 'disabled' } }, [true, true]],
    [managed({ type: 'unrestricted' }), [false, true]],
    [{ permissions: { type: 'external', network: 'restricted' } }, [false, true]],
    [READ_ONLY, [false, true]],
    [managed({ type: 'restricted', entries: [] }), [false, false]],
    [{ permissions: 5 }, [false, false]],
    [{}, [false, false]],
  ])('%j is accepted where it holds: %j', async (sandbox, accepted) => {
    const answers = await Promise.all(
      LEVELS.map(async (level) => !(await servers.run(level, 'true', { sandbox })).startsWith('refused')),
    );
    expect(answers).toEqual(accepted);
  });

  it('holds for commands and for files', async () => {
    const script = (name: string): string => `touch ${name} && echo wrote; cat own`;
    expect(await servers.run('container', script('free'))).toBe('wrote\nmine');
    const bound = await servers.run('container', script('bound'), { sandbox: READ_ONLY });
    expect(bound).toContain('mine');
    expect(bound).toContain('Read-only');
    expect(readdirSync(work)).not.toContain('bound');
    const confined = await servers.client('container');
    const write = { path: at('by-fs'), dataBase64: base64('x'), sandbox: READ_ONLY };
    expect((await confined.call('fs/writeFile', write)).error).toMatchObject({ code: -32600 });
    expect((await confined.call('fs/writeFile', { ...write, sandbox: null })).result).toEqual({});
    expect((await confined.call('fs/readFile', { path: at('own'), sandbox: READ_ONLY })).result).toBeDefined();
    expect((await confined.call('fs/readFile', { path: at('own'), sandbox: {} })).error.code).toBe(-32600);
  });
});
