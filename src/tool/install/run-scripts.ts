import { dirname, join } from 'node:path';
import { DEFAULT_SEARCH_PATH, type Spawner } from '../../sandbox/index.js';
import { failure } from '../failure.js';
import { makePrivateFolder } from '../run/private-folder.js';
import type { PendingScript } from './jobs.js';

const SCRIPT_TIMEOUT_MS = 60_000;

/**
 * Runs the install scripts of packages that the operator put on the allow-list, each like a tool: in a process with
 * nothing of the server's. They are shell scripts by npm's definition; nothing of a request is part of them.
 */
export function scriptRunner(
  spawner: Spawner,
  level: string,
  foldersDir: string,
): (scripts: readonly PendingScript[]) => Promise<void> {
  return async (scripts) => {
    for (const script of scripts) {
      await using folder = await makePrivateFolder(foldersDir);
      await using child = await spawner.spawn({
        argv: ['/bin/sh', '-c', script.command],
        env: {
          PATH: `${dirname(process.execPath)}:${DEFAULT_SEARCH_PATH}`,
          HOME: folder.path,
          TMPDIR: folder.path,
          LANG: 'C.UTF-8',
          npm_lifecycle_event: script.event,
          npm_package_name: script.packageName,
          INIT_CWD: join(script.folder),
        },
        cwd: script.folder,
        stdio: { kind: 'pipes', stdin: 'null' },
        limits: { timeoutMs: SCRIPT_TIMEOUT_MS },
        level,
      });
      for (const output of child.outputs) output.discard();
      const { exitCode, signal, timedOut } = await child.exited;
      if (exitCode !== 0) {
        throw failure('PACKAGE_NOT_FOUND', `the ${script.event} script of ${script.packageName} failed`, {
          phase: 'install',
          reason: 'script',
          exitCode,
          signal,
          timedOut,
        });
      }
    }
  };
}
