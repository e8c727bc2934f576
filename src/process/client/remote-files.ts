import type { Fields } from '../fields.js';
import { pathFor } from '../fields.js';
import type { Dialect } from '../messages.js';
import { answer } from './answers.js';
import type { FileAccess } from './peer.js';
import type { Repeatable, Rpc } from './rpc.js';

/** The files of a server at the other end of a connection. */
export function remoteFiles(rpc: Rpc, dialect: () => Dialect): FileAccess {
  const uri = (path: string): string => pathFor(dialect(), path);
  const call = async <Result>(
    method: string,
    params: unknown,
    repeatable: Repeatable,
    read: (fields: Fields) => Result,
  ): Promise<Result> => answer(method, await rpc.request(method, params, repeatable), dialect(), read);
  const nothing = (): void => {};
  return {
    readFile: (path) => call('fs/readFile', { path: uri(path) }, 'repeatable', (fields) => fields.bytes('dataBase64')),
    writeFile: (path, bytes) =>
      call('fs/writeFile', { path: uri(path), dataBase64: base64(bytes) }, 'repeatable', nothing),
    createDirectory: (path, parents) =>
      call('fs/createDirectory', { path: uri(path), recursive: parents === 'recursive' }, 'once', nothing),
    getMetadata: (path) =>
      call('fs/getMetadata', { path: uri(path) }, 'repeatable', (fields) => ({
        isDirectory: fields.boolean('isDirectory'),
        isFile: fields.boolean('isFile'),
        isSymlink: fields.boolean('isSymlink'),
        size: fields.integer('size'),
        createdAtMs: fields.signed('createdAtMs'),
        modifiedAtMs: fields.signed('modifiedAtMs'),
      })),
    canonicalize: (path) =>
      call('fs/canonicalize', { path: uri(path) }, 'repeatable', (fields) => fields.place('path')),
    readDirectory: (path) =>
      call('fs/readDirectory', { path: uri(path) }, 'repeatable', (fields) =>
        fields.objects('entries').map((entry) => ({
          fileName: entry.string('fileName'),
          isDirectory: entry.boolean('isDirectory'),
          isFile: entry.boolean('isFile'),
        })),
      ),
    walk: (path, { maxDepth, maxDirectories, maxEntries, symlinks, hidden }) => {
      const options = {
        maxDepth,
        maxDirectories,
        maxEntries,
        followDirectorySymlinks: symlinks === 'follow-directories',
        pruneHiddenDirectories: hidden === 'prune',
      };
      return call('fs/walk', { path: uri(path), options }, 'repeatable', (fields) => ({
        entries: fields
          .objects('entries')
          .map((entry) => ({ path: entry.place('path'), kind: entry.oneOf('kind', ['file', 'directory']) })),
        errors: fields
          .objects('errors')
          .map((error) => ({ path: error.place('path'), message: error.optionalString('message') ?? '' })),
        truncated: fields.boolean('truncated'),
      }));
    },
    remove: (path, recursion, missing) =>
      call(
        'fs/remove',
        { path: uri(path), recursive: recursion === 'recursive', force: missing === 'ignore' },
        'once',
        nothing,
      ),
    copy: (source, destination, recursion) =>
      call(
        'fs/copy',
        { sourcePath: uri(source), destinationPath: uri(destination), recursive: recursion === 'recursive' },
        'once',
        nothing,
      ),
  };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
