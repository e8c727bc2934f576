import type { Check } from '../check.js';
import { NotApplicable } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import { bytesOf, type ExecClient } from './client.js';
import { type ExecSession, inLater } from './session.js';
import { quote } from './shell.js';

const group = 'Files';
const level = 'RECOMMENDED';
const cites: readonly string[] = [];
const reason = 'the text is older than fs/*; clients of the later dialect read and write files with it';

type Work = (files: Files) => Promise<void>;

/** Files of the target, by names in a folder that goes with the check. */
class Files {
  readonly client: ExecClient;
  readonly folder: string;

  constructor(client: ExecClient, folder: string) {
    this.client = client;
    this.folder = folder;
  }

  path(name = ''): string {
    return this.client.path(name === '' ? this.folder : `${this.folder}/${name}`);
  }

  call(method: string, params: JsonObject): Promise<JsonObject> {
    return this.client.result(`fs/${method}`, params);
  }

  async write(name: string, text: string): Promise<void> {
    const dataBase64 = Buffer.from(text).toString('base64');
    expectEqual(await this.call('writeFile', { path: this.path(name), dataBase64 }), {}, 'the result of fs/writeFile');
  }

  async read(name: string): Promise<string> {
    return bytesOf((await this.call('readFile', { path: this.path(name) }))['dataBase64']).toString();
  }

  async entries(): Promise<JsonObject[]> {
    const { entries } = await this.call('readDirectory', { path: this.path() });
    expectThat(Array.isArray(entries), 'entries', entries);
    return entries.filter(isObject).sort((a, b) => (String(a['fileName']) < String(b['fileName']) ? -1 : 1));
  }
}

/** Gives a check a folder of its own, unless the target has no file access. */
function inFolder(work: Work): (session: ExecSession) => Promise<void> {
  return inLater(async (client, session) => {
    const files = new Files(client, session.ownFolder());
    const { error } = await client.call('fs/getMetadata', { path: files.path() });
    const off = isObject(error) && (error['code'] === -32601 || error['code'] === -32600);
    if (off) throw new NotApplicable(`the target gives no access to files: ${error['message']}`);
    if (error !== undefined) {
      session.context.defer(async () => {
        await client.call('fs/remove', { path: files.path(), recursive: true, force: true });
      });
      await files.call('createDirectory', { path: files.path(), recursive: true });
    }
    await work(files);
  });
}

/** What `fs/*` does. */
export const FILE_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.files.read-write',
    title: 'fs/writeFile writes what fs/readFile reads, and processes see it',
    level,
    reason,
    group,
    cites,
    run: inFolder(async (files) => {
      await files.write('a file', 'one\n\0ü');
      await files.write('a file', 'two\n');
      expectEqual(await files.read('a file'), 'two\n', 'what is read');
      const { output } = await files.client.run('p', `cat ${quote(`${files.folder}/a file`)}`);
      expectEqual(output, 'two\n', 'what a process reads');
    }),
  },
  {
    id: 'exec-server.files.metadata',
    title: 'fs/getMetadata tells files from folders, with the size and the time of the last change',
    level,
    reason,
    group,
    cites,
    run: inFolder(async (files) => {
      await files.write('f', '12345');
      const file = await files.call('getMetadata', { path: files.path('f') });
      const { isFile, isDirectory, isSymlink, size, modifiedAtMs } = file;
      expectEqual(
        { isFile, isDirectory, isSymlink, size },
        { isFile: true, isDirectory: false, isSymlink: false, size: 5 },
        'the metadata of a file',
      );
      expectThat(typeof modifiedAtMs === 'number' && modifiedAtMs > 0, 'modifiedAtMs', file);
      const folder = await files.call('getMetadata', { path: files.path() });
      expectEqual([folder['isFile'], folder['isDirectory']], [false, true], 'isFile and isDirectory of a folder');
    }),
  },
  {
    id: 'exec-server.files.not-found',
    title: 'What does not exist is -32004',
    level,
    reason: 'clients look for files by asking for them; by the code they know that there is none',
    group,
    cites,
    run: inFolder(async (files) => {
      const path = files.path('nothing');
      for (const method of ['fs/readFile', 'fs/getMetadata', 'fs/readDirectory', 'fs/canonicalize']) {
        const { code } = await files.client.refusal(method, { path }, `${method} to be refused`);
        expectEqual(code, -32004, `the code of ${method}`);
      }
    }),
  },
  {
    id: 'exec-server.files.directory',
    title: 'fs/createDirectory makes folders and fs/readDirectory lists them',
    level,
    reason,
    group,
    cites,
    run: inFolder(async (files) => {
      await files.call('createDirectory', { path: files.path('deep/er'), recursive: true });
      await files.write('f', '');
      const wanted = [
        { fileName: 'deep', isDirectory: true, isFile: false },
        { fileName: 'f', isDirectory: false, isFile: true },
      ];
      const entries = (await files.entries()).map(({ fileName, isDirectory, isFile }) => ({
        fileName,
        isDirectory,
        isFile,
      }));
      expectEqual(entries, wanted, 'the entries');
    }),
  },
  {
    id: 'exec-server.files.blocks',
    title: 'fs/open, fs/readBlock and fs/close read a file in pieces; closing twice is fine',
    level,
    reason,
    group,
    cites,
    run: inFolder(async (files) => {
      await files.write('f', 'abcdefgh');
      expectEqual(await files.call('open', { handleId: 'h', path: files.path('f') }), { handleId: 'h' }, 'fs/open');
      const block = async (offset: number, len: number): Promise<[string, unknown]> => {
        const { chunk, eof } = await files.call('readBlock', { handleId: 'h', offset, len });
        return [bytesOf(chunk).toString(), eof];
      };
      expectEqual(await block(2, 3), ['cde', false], 'a block from the middle, and eof');
      expectEqual(await block(5, 100), ['fgh', true], 'the last block, and eof');
      for (let time = 0; time < 2; time += 1) expectEqual(await files.call('close', { handleId: 'h' }), {}, 'fs/close');
      await files.client.refusal('fs/readBlock', { handleId: 'h', offset: 0, len: 1 }, 'a closed handle to be refused');
    }),
  },
  {
    id: 'exec-server.files.walk',
    title: 'fs/walk lists a tree as file: URIs, and says when it was cut',
    level,
    reason,
    group,
    cites,
    run: inFolder(async (files) => {
      await files.call('createDirectory', { path: files.path('a'), recursive: true });
      await files.write('a/f', '');
      const options = { maxDepth: 8, maxDirectories: 100, maxEntries: 100, followDirectorySymlinks: false };
      const { entries, truncated } = await files.call('walk', { path: files.path(), options });
      const found = Array.isArray(entries) ? entries.filter(isObject).map(({ path, kind }) => `${kind} ${path}`) : [];
      expectEqual(found.sort(), [`directory ${files.path('a')}`, `file ${files.path('a/f')}`], 'the entries');
      expectEqual(truncated, false, 'truncated');
      const cut = await files.call('walk', { path: files.path(), options: { ...options, maxEntries: 1 } });
      expectEqual(cut['truncated'], true, 'truncated with maxEntries 1');
    }),
  },
  {
    id: 'exec-server.files.canonicalize',
    title: 'fs/canonicalize follows links and dots',
    level,
    reason,
    group,
    cites,
    run: inFolder(async (files) => {
      await files.write('f', '');
      await files.client.run('p', `ln -s f ${quote(`${files.folder}/link`)}`);
      const straight = await files.call('canonicalize', { path: files.path('f') });
      expectEqual(await files.call('canonicalize', { path: files.path('link') }), straight, 'the path of a link');
    }),
  },
  {
    id: 'exec-server.files.copy-remove',
    title: 'fs/copy copies a tree, and fs/remove takes it away, also when it is not there',
    level,
    reason,
    group,
    cites,
    run: inFolder(async (files) => {
      await files.call('createDirectory', { path: files.path('a'), recursive: true });
      await files.write('a/f', 'text');
      const [sourcePath, destinationPath] = [files.path('a'), files.path('b')];
      expectEqual(await files.call('copy', { sourcePath, destinationPath, recursive: true }), {}, 'fs/copy');
      expectEqual(await files.read('b/f'), 'text', 'the copy');
      for (let time = 0; time < 2; time += 1) {
        expectEqual(
          await files.call('remove', { path: files.path('a'), recursive: true, force: true }),
          {},
          'fs/remove',
        );
      }
      const names = (await files.entries()).map(({ fileName }) => fileName);
      expectEqual(names, ['b'], 'what is left');
    }),
  },
];
