import { ExecError } from '../exec-error.js';
import { type Fields, pathFor } from '../fields.js';
import { asFsRefusal } from '../fs/errors.js';
import type { FileSystem, Reading } from '../fs/file-system.js';
import type { Route, RouteContext } from '../routing.js';
import { sandboxRequest } from '../sandbox-request.js';
import type { Turn } from '../turns.js';

type Work = (files: FileSystem, context: RouteContext, reading: Reading) => Promise<unknown>;

/** A route into the file system: its refusals have the numbers of the table, and its answer is `{}` unless it has one. */
function fsRoute(prepare: (fields: Fields, idLength: number) => Work): Route {
  return (fields, limits) => {
    const sandbox = sandboxRequest(fields.optionalObject('sandbox'), limits.sandboxRules);
    const work = prepare(fields, limits.idLength);
    return async (context) => {
      const { session, signal } = context;
      const files = context.handler.files(sandbox);
      // Whoever asks faster than it reads waits, and memory does not fill up with what was read for it.
      const turns: Turn[] = [];
      const leave = (): void => {
        for (const turn of turns.splice(0)) turn[Symbol.dispose]();
      };
      const reserve = async (bytes: number): Promise<void> => {
        turns.push(await session.fileBytes.take(bytes, signal));
      };
      try {
        turns.push(await session.fileRequests.take(1, signal));
        const result = (await work(files, context, { signal, reserve })) ?? {};
        return { result, left: leave };
      } catch (error) {
        leave();
        throw asFsRefusal(error, '');
      }
    };
  };
}

const recursion = (fields: Fields, missing: 'true' | 'false'): 'recursive' | 'flat' =>
  fields.booleanOr('recursive', missing) ? 'recursive' : 'flat';

/** In `fs/*` bytes that are not base64 count as bad input, unlike in the other methods. */
function data(fields: Fields): Buffer {
  const text = fields.string('dataBase64');
  try {
    return fields.bytes('dataBase64');
  } catch (error) {
    throw new ExecError('invalidRequest', `dataBase64 must be padded base64 (${text.length} characters)`, {
      cause: error,
    });
  }
}

export const FS_ROUTES: Readonly<Record<string, Route>> = {
  'fs/readFile': fsRoute((fields) => {
    const path = fields.path('path');
    return async (files, _context, reading) => ({
      dataBase64: (await files.readFile(path, reading)).toString('base64'),
    });
  }),
  'fs/writeFile': fsRoute((fields) => {
    const [path, bytes] = [fields.path('path'), data(fields)];
    return (files) => files.writeFile(path, bytes);
  }),
  'fs/open': fsRoute((fields, idLength) => {
    const [handleId, path] = [fields.id('handleId', idLength), fields.path('path')];
    return async (files, { session }) => {
      await session.files.open(handleId, () => files.open(path));
      return { handleId };
    };
  }),
  'fs/readBlock': fsRoute((fields, idLength) => {
    const handleId = fields.id('handleId', idLength);
    const [offset, length] = [fields.integer('offset'), fields.integer('len')];
    return async (_files, { session }) => {
      const { bytes, eof } = await session.files.readBlock(handleId, offset, length);
      return { chunk: bytes.toString('base64'), eof };
    };
  }),
  'fs/close': fsRoute((fields, idLength) => {
    const handleId = fields.id('handleId', idLength);
    return (_files, { session }) => session.files.close(handleId);
  }),
  'fs/createDirectory': fsRoute((fields) => {
    const [path, parents] = [fields.path('path'), recursion(fields, 'true')];
    return (files) => files.createDirectory(path, parents);
  }),
  'fs/getMetadata': fsRoute((fields) => {
    const path = fields.path('path');
    return (files) => files.getMetadata(path);
  }),
  'fs/canonicalize': fsRoute((fields) => {
    const path = fields.path('path');
    return async (files, { dialect }) => ({ path: pathFor(dialect, await files.canonicalize(path)) });
  }),
  'fs/readDirectory': fsRoute((fields) => {
    const path = fields.path('path');
    return async (files, _context, reading) => ({ entries: await files.readDirectory(path, reading) });
  }),
  'fs/walk': fsRoute((fields) => {
    const path = fields.path('path');
    const options = fields.optionalObject('options');
    if (options === undefined) throw fields.wrong('options', 'must be an object');
    const wanted = {
      maxDepth: options.integer('maxDepth'),
      maxDirectories: options.integer('maxDirectories'),
      maxEntries: options.integer('maxEntries'),
      symlinks: options.boolean('followDirectorySymlinks') ? ('follow-directories' as const) : ('skip' as const),
      hidden: options.booleanOr('pruneHiddenDirectories', 'false') ? ('prune' as const) : ('visit' as const),
    };
    return async (files, { dialect }, reading) => {
      const { entries, errors, truncated } = await files.walk(path, wanted, reading);
      return {
        entries: entries.map((entry) => ({ ...entry, path: pathFor(dialect, entry.path) })),
        errors: errors.map((error) => ({ ...error, path: pathFor(dialect, error.path) })),
        truncated,
      };
    };
  }),
  'fs/remove': fsRoute((fields) => {
    const path = fields.path('path');
    const depth = recursion(fields, 'true');
    const missing = fields.booleanOr('force', 'true') ? 'ignore' : 'refuse';
    return (files) => files.remove(path, depth, missing);
  }),
  'fs/copy': fsRoute((fields) => {
    const [source, destination] = [fields.path('sourcePath'), fields.path('destinationPath')];
    const depth = recursion(fields, 'false');
    return (files) => files.copy(source, destination, depth);
  }),
};
