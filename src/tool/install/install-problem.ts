import type { InstallProblem, JobError } from './jobs.js';

/** A failure of an install whose kind is known where it is thrown. */
export class InstallError extends Error {
  override readonly name = 'InstallError';
  readonly problem: InstallProblem;

  constructor(problem: InstallProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

const BY_CODE = new Map<string, InstallProblem>([
  ['E404', 'not-found'],
  ['E405', 'not-found'],
  ['E451', 'not-found'],
  ['ETARGET', 'no-version'],
  ['ENOVERSIONS', 'no-version'],
  ['E403', 'denied'],
  ['E401', 'denied'],
  ['EINTEGRITY', 'integrity'],
  ['EMANIFESTMISMATCH', 'integrity'],
  ['ERESOLVE', 'conflict'],
  ['EALLOWGIT', 'source'],
  ['EALLOWREMOTE', 'source'],
  ['EALLOWFILE', 'source'],
  ['EALLOWDIRECTORY', 'source'],
  ['EUNSUPPORTEDPROTOCOL', 'source'],
  ['EINVALIDTAGNAME', 'source'],
  ['EBADPLATFORM', 'platform'],
  ['Z_DATA_ERROR', 'tarball'],
  ['Z_BUF_ERROR', 'tarball'],
  ['TAR_BAD_ARCHIVE', 'tarball'],
  ['TAR_ABORT', 'tarball'],
]);

const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'EPIPE',
  'ERR_SOCKET_TIMEOUT',
  'EIDLETIMEOUT',
  'ERESPONSETIMEOUT',
  'ETRANSFERTIMEOUT',
  'ECONNECTIONTIMEOUT',
  'FETCH_ERROR',
  'EINVALIDRESPONSE',
  'E429',
  'E408',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Says what kind of failure something thrown by npm's modules is. */
export function jobErrorOf(error: unknown): JobError {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof InstallError) return { problem: error.problem, message, code };
  if (code === undefined) {
    // The registry answered something that is no JSON.
    return { problem: error instanceof SyntaxError ? 'unreachable' : 'internal', message, code };
  }
  const known = BY_CODE.get(code);
  if (known !== undefined) return { problem: known, message, code };
  if (NETWORK.has(code) || /^E5\d\d$/.test(code)) return { problem: 'unreachable', message, code };
  return { problem: 'internal', message, code };
}
