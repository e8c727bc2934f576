import { ExecError, type RefusalKind } from '../exec-error.js';

const NOT_FOUND = new Set(['ENOENT']);
/** Permission, or something that the request should not have asked for. */
const BAD_REQUEST = new Set(['EACCES', 'EPERM', 'EINVAL', 'EISDIR', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'EROFS']);

/** How the system calls what was reached by its handle. */
const ADDRESS = /'\/proc\/self\/fd\/\d+[^']*'/g;

/** Makes a refusal of an error of the file system, in words about the path that was asked for. */
export function asFsRefusal(error: unknown, path: string): ExecError {
  if (error instanceof ExecError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const said = error instanceof Error ? error.message : String(error);
  const message = said.replaceAll(ADDRESS, () => `'${path}'`);
  let kind: RefusalKind = 'internal';
  if (NOT_FOUND.has(code)) kind = 'notFound';
  else if (BAD_REQUEST.has(code) || code.startsWith('ERR_INVALID_ARG') || code.startsWith('ERR_FS_')) {
    kind = 'invalidRequest';
  }
  return new ExecError(kind, message, { cause: error });
}

/** Says that a request makes no sense as it stands. */
export function badRequest(message: string): ExecError {
  return new ExecError('invalidRequest', message);
}
