import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ownServer, rawPair } from './helpers.js';
import { base64, connectTo, KINDS, type RawClient, sharedServer, uri } from './raw-client.js';

const shared = sharedServer();
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-fs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'd/sub/.hidden'), { recursive: true });
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(folder, 'outside/secret'), 'secret');
  writeFileSync(join(folder, 'd/file'), 'content\n');
  writeFileSync(join(folder, 'd/sub/.hidden/deep'), '');
  symlinkSync(join(folder, 'outside'), join(folder, 'd/out'));
  symlinkSync('file', join(folder, 'd/link'));
  symlinkSync('/no/such', join(folder, 'd/broken'));
  execFileSync('mkfifo', [join(folder, 'd/fifo')]);
});

const at = (path: string): string => uri(join(folder, path));

/** Calls and returns the result, or the number of the error. */
async function ask(client: RawClient, method: string, params: unknown) {
  const { result, error } = await client.call(`fs/${method}`, params);
  return result ?? error.code;
}

describe.each(KINDS)('fs/* over %s', (kind) => {
  it('answers every method', async () => {
    const client = await connectTo(kind, shared);
    await client.later();
    const fs = (method: string, params: unknown) => ask(client, method, params);
    expect(await fs('readFile', { path: at('d/file') })).toEqual({ dataBase64: base64('content\n') });
    expect(await fs('writeFile', { path: at('d/new'), dataBase64: base64('new') })).toEqual({});
    expect(readFileSync(join(folder, 'd/new'), 'utf8')).toBe('new');
    expect(await fs('getMetadata', { path: at('d/file') })).toMatchObject({
      isDirectory: false,
      isFile: true,
      isSymlink: false,
      size: 8,
      createdAtMs: expect.any(Number),
      modifiedAtMs: expect.any(Number),
    });
    expect(await fs('getMetadata', { path: at('d/out') })).toMatchObject({ isDirectory: true, isSymlink: true });
    expect(await fs('canonicalize', { path: at('d/../d/link') })).toEqual({ path: at('d/file') });
    expect(await fs('createDirectory', { path: at('a/b/c') })).toEqual({});
    expect(await fs('createDirectory', { path: at('x/y'), recursive: false })).toBe(-32004);
    const { entries } = await fs('readDirectory', { path: at('d') });
    expect(entries).toContainEqual({ fileName: 'out', isDirectory: true, isFile: false });
    expect(entries).toContainEqual({ fileName: 'fifo', isDirectory: false, isFile: false });
    expect(entries.map(({ fileName }: { fileName: string }) => fileName)).not.toContain('broken');
    expect(await fs('copy', { sourcePath: at('d/file'), destinationPath: at('copy'), recursive: false })).toEqual({});
    expect(await fs('remove', { path: at('copy') })).toEqual({});
    expect(existsSync(join(folder, 'copy'))).toBe(false);
  });

  it('reads in blocks by handle', async () => {
    const client = await connectTo(kind, shared);
    await client.later();
    const fs = (method: string, params: unknown) => ask(client, method, params);
    expect(await fs('open', { handleId: 'h', path: at('d/file') })).toEqual({ handleId: 'h' });
    expect(await fs('open', { handleId: 'h', path: at('d/file') })).toBe(-32600);
    expect(await fs('readBlock', { handleId: 'h', offset: 0, len: 4 })).toEqual({ chunk: base64('cont'), eof: false });
    expect(await fs('readBlock', { handleId: 'h', offset: 4, len: 100 })).toEqual({
      chunk: base64('ent\n'),
      eof: true,
    });
    expect(await fs('readBlock', { handleId: 'h', offset: 1e9, len: 1 })).toEqual({ chunk: '', eof: true });
    for (const len of [0, 1024 * 1024 + 1])
      expect(await fs('readBlock', { handleId: 'h', offset: 0, len })).toBe(-32600);
    expect(await fs('readBlock', { handleId: 'h', offset: -1, len: 1 })).toBe(-32602);
    expect(await fs('close', { handleId: 'h' })).toEqual({});
    expect(await fs('close', { handleId: 'h' })).toEqual({});
    expect(await fs('readBlock', { handleId: 'h', offset: 0, len: 1 })).toBe(-32004);
    for (const path of ['d', 'd/fifo']) expect(await fs('open', { handleId: 'x', path: at(path) })).toBe(-32600);
    expect(await fs('open', { handleId: 'x', path: at('nope') })).toBe(-32004);
  });

  it('reports errors with the numbers of the table', async () => {
    const client = await connectTo(kind, shared);
    await client.later();
    const fs = (method: string, params: unknown) => ask(client, method, params);
    expect(await fs('readFile', { path: at('nope') })).toBe(-32004);
    expect(await fs('readFile', { path: join(folder, 'd/file') })).toBe(-32602);
    expect(await fs('readFile', { path: at('d') })).toBe(-32600);
    expect(await fs('readFile', { path: at('d/fifo') })).toBe(-32600);
    expect(await fs('writeFile', { path: at('d/fifo'), dataBase64: '' })).toBe(-32600);
    expect(await fs('writeFile', { path: '/dev/null', dataBase64: '' })).toBe(-32602);
    expect(await fs('writeFile', { path: at('d/file'), dataBase64: '!!' })).toBe(-32600);
    expect(await fs('writeFile', { path: at('no/file'), dataBase64: '' })).toBe(-32004);
    expect(await fs('getMetadata', { path: at('d/broken') })).toBe(-32004);
    expect(await fs('getMetadata', { path: at(`d/${'x'.repeat(300)}`) })).toBe(-32600);
    expect(await fs('createDirectory', { path: at('d/file') })).toBe(-32603);
    expect(await fs('remove', { path: at('nope') })).toEqual({});
    expect(await fs('remove', { path: at('nope'), force: false })).toBe(-32004);
    expect(await fs('remove', { path: at('d'), recursive: false })).toBe(-32603);
    expect(await fs('remove', { path: 'file:///' })).toBe(-32600);
    expect(await fs('walk', { path: at('nope'), options: WALK })).toBe(-32004);
    expect(await fs('walk', { path: at('d'), options: { ...WALK, maxDepth: 65 } })).toBe(-32600);
    expect(await fs('walk', { path: at('d') })).toBe(-32602);
    expect(await fs('copy', { sourcePath: at('d'), destinationPath: at('e'), recursive: false })).toBe(-32600);
    expect(await fs('copy', { sourcePath: at('d'), destinationPath: at('d/sub/e'), recursive: true })).toBe(-32600);
    expect(await fs('copy', { sourcePath: at('d/fifo'), destinationPath: at('f'), recursive: false })).toBe(-32600);
  });
});

describe('fs/*', () => {
  it('removes and copies links, never what they lead to', async () => {
    const client = rawPair(ownServer());
    await client.later();
    expect(await ask(client, 'copy', { sourcePath: at('d'), destinationPath: at('e'), recursive: true })).toEqual({});
    expect(readlinkSync(join(folder, 'e/out'))).toBe(join(folder, 'outside'));
    expect(readlinkSync(join(folder, 'e/link'))).toBe('file');
    await ask(client, 'remove', { path: at('e/out') });
    await ask(client, 'remove', { path: at('d') });
    expect(existsSync(join(folder, 'd'))).toBe(false);
    expect(readFileSync(join(folder, 'outside/secret'), 'utf8')).toBe('secret');
    // A folder that is reached through a link into itself is still itself.
    symlinkSync(join(folder, 'e'), join(folder, 'alias'));
    const inside = { sourcePath: at('e'), destinationPath: at('alias/sub/x'), recursive: true };
    expect(await ask(client, 'copy', inside)).toBe(-32600);
  });

  it('walks within its limits, and through links only when told to', async () => {
    const client = rawPair(ownServer());
    await client.later();
    const paths = async (options: Record<string, unknown>) => {
      const result = await ask(client, 'walk', { path: at('d'), options: { ...WALK, ...options } });
      return {
        ...result,
        entries: result.entries.map(({ path }: { path: string }) => path.replace(`${at('d')}/`, '')),
      };
    };
    expect(await paths({})).toEqual({
      entries: ['file', 'sub', 'sub/.hidden', 'sub/.hidden/deep'],
      errors: [],
      truncated: false,
    });
    expect((await paths({ pruneHiddenDirectories: true })).entries).toEqual(['file', 'sub', 'sub/.hidden']);
    expect((await paths({ maxDepth: 1 })).entries).toEqual(['file', 'sub']);
    expect(await paths({ maxEntries: 1 })).toMatchObject({ entries: ['file'], truncated: true });
    expect(await paths({ maxDirectories: 1 })).toMatchObject({ entries: ['file', 'sub'], truncated: true });
    symlinkSync('..', join(folder, 'd/sub/loop'));
    const followed = await paths({ followDirectorySymlinks: true });
    expect(followed.entries).toContain('out/secret');
    expect(followed.entries.length).toBeLessThan(12);
  });

  it('reads a huge sparse file in blocks with bounded memory, and refuses to read it whole', async () => {
    const client = rawPair(ownServer());
    await client.later();
    writeFileSync(join(folder, 'huge'), '');
    truncateSync(join(folder, 'huge'), 2 ** 40);
    expect(await ask(client, 'readFile', { path: at('huge') })).toBe(-32600);
    await ask(client, 'open', { handleId: 'h', path: at('huge') });
    const block = await ask(client, 'readBlock', { handleId: 'h', offset: 2 ** 39, len: 1024 * 1024 });
    expect(Buffer.from(block.chunk, 'base64').length).toBe(1024 * 1024);
    const size = await ask(client, 'readFile', { path: 'file:///proc/self/status' });
    expect(Buffer.from(size.dataBase64, 'base64').length).toBeGreaterThan(100);
  });

  it('removes and copies names of any bytes, and refuses trees that are too deep', async () => {
    const client = rawPair(ownServer({ limits: { treeDepth: 2 } }));
    await client.later();
    const odd = Buffer.concat([Buffer.from(join(folder, 'd/')), Buffer.from([0x6f, 0xff, 0xfe])]);
    mkdirSync(odd);
    writeFileSync(Buffer.concat([odd, Buffer.from([0x2f, 0x80])]), 'x');
    const copy = { sourcePath: at('d'), destinationPath: at('e'), recursive: true };
    expect((await client.call('fs/copy', copy)).error.message).toContain('too deep');
    rmSync(join(folder, 'd/sub'), { recursive: true });
    expect(await ask(client, 'copy', { ...copy, destinationPath: at('f') })).toEqual({});
    expect(
      existsSync(Buffer.concat([Buffer.from(join(folder, 'f/')), Buffer.from([0x6f, 0xff, 0xfe, 0x2f, 0x80])])),
    ).toBe(true);
    expect(await ask(client, 'remove', { path: at('f') })).toEqual({});
    expect(existsSync(join(folder, 'f'))).toBe(false);
    mkdirSync(join(folder, 'x/y/z/w'), { recursive: true });
    expect((await client.call('fs/remove', { path: at('x') })).error.message).toContain('too deep');
  });

  it('leaves a file alone that is copied onto itself, and writes through links that lead nowhere yet', async () => {
    const client = rawPair(ownServer());
    await client.later();
    const onto = { sourcePath: at('d/file'), destinationPath: at('d/link'), recursive: false };
    expect(await ask(client, 'copy', onto)).toEqual({});
    expect(readFileSync(join(folder, 'd/file'), 'utf8')).toBe('content\n');
    writeFileSync(join(folder, 'longer'), 'something longer');
    expect(await ask(client, 'copy', { ...onto, destinationPath: at('longer') })).toEqual({});
    expect(readFileSync(join(folder, 'longer'), 'utf8')).toBe('content\n');
    symlinkSync('target', join(folder, 'd/dangling'));
    expect(await ask(client, 'writeFile', { path: at('d/dangling'), dataBase64: base64('new') })).toEqual({});
    expect(readFileSync(join(folder, 'd/target'), 'utf8')).toBe('new');
    symlinkSync('circle', join(folder, 'd/circle'));
    expect(await ask(client, 'writeFile', { path: at('d/circle'), dataBase64: '' })).toBe(-32600);
    const refused = await client.call('fs/readFile', { path: at('d/nothing') });
    expect(refused.error.message).toContain(join(folder, 'd/nothing'));
  });

  it('has a limit for handles, and can be switched off', async () => {
    const client = rawPair(ownServer({ limits: { fileHandles: 2 } }));
    await client.later();
    for (const handleId of ['1', '2']) await ask(client, 'open', { handleId, path: at('d/file') });
    expect(await ask(client, 'open', { handleId: '3', path: at('d/file') })).toBe(-32600);
    const off = rawPair(ownServer({ fileSystem: 'off' }));
    await off.later();
    expect((await off.call('fs/readFile', { path: at('d/file') })).error.message).toContain('switched off');
  });
});

const WALK = { maxDepth: 10, maxDirectories: 100, maxEntries: 100, followDirectorySymlinks: false };
