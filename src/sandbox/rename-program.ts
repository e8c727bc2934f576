import { spawnSync } from 'node:child_process';
import { SallyportError } from '../errors/index.js';
import type { Invocation } from './level.js';
import { PROBE_TIMEOUT_MS } from './limits.js';
import { findProgram, findSystemTool } from './resolve-program.js';

/** Makes the argv of a tool that executes `file` under another name and leaves the environment alone. */
type Renamer = (file: string, argv0: string) => readonly string[];

let renamer: Renamer | undefined;

// Shells are no help: POSIX sh cannot rename, and bash adds variables of its own to the environment.
function findRenamer(): Renamer | undefined {
  const env = findSystemTool('env');
  if (env !== undefined) {
    // GNU coreutils 9.5 and later.
    const tried = spawnSync(env, ['--argv0=x', env], { env: {}, timeout: PROBE_TIMEOUT_MS, stdio: 'ignore' });
    if (tried.status === 0) return (file, argv0) => [env, `--argv0=${argv0}`, file];
  }
  const perl = findSystemTool('perl');
  if (env === undefined || perl === undefined) return undefined;
  // Perl would complain on the child's terminal about a locale that is not installed.
  const script = 'delete $ENV{PERL_BADLANG}; exec { shift @ARGV } @ARGV or exit 126';
  return (file, argv0) => [env, 'PERL_BADLANG=0', perl, '-e', script, '--', file, argv0];
}

/**
 * The argv with which a tool that knows only execvp (setsid, prlimit, bwrap) starts an invocation under its right name.
 * A name that execvp would resolve to the same file needs no help, which is nearly always.
 */
export function argvFor(invocation: Pick<Invocation, 'file' | 'argv0' | 'args' | 'env' | 'cwd'>): string[] {
  const { file, argv0, args, env, cwd } = invocation;
  if (argv0 === file) return [file, ...args];
  const path = env.get('PATH');
  // A leading dash would be taken for an option, and without PATH every tool has its own idea where to search.
  if (!argv0.startsWith('-') && (path !== undefined || argv0.includes('/'))) {
    const found = findProgram(argv0, path ?? '', cwd);
    if (found.ok && found.file === file) return [argv0, ...args];
  }
  renamer ??= findRenamer();
  if (renamer === undefined) {
    throw new SallyportError(
      'SPAWN_FAILED',
      `cannot start ${file} as ${JSON.stringify(argv0)}: renaming needs GNU env 9.5 or perl, and neither is here`,
      { errno: 'ENOSYS' },
    );
  }
  return [...renamer(file, argv0), ...args];
}
