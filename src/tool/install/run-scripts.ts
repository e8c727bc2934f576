import { dirname } from 'node:path';
import { DEFAULT_SEARCH_PATH, type PolicyRequest, type Spawner } from '../../sandbox/index.js';
import { failure } from '../failure.js';
import { childEnvironment } from '../run/child-environment.js';
import type { Lodgings } from '../run/lodging.js';
import type { PendingScript } from './jobs.js';

const SCRIPT_TIMEOUT_MS = 60_000;

/**
 * Runs the install scripts of packages that the operator put on the allow-list, each like a tool: in a process with
 * nothing of the server's. They are shell scripts by npm's definition; nothing of a request is part of them.
 */
export function scriptRunner(options: {
  readonly spawner: Spawner;
  readonly level: string;
  readonly policy: PolicyRequest | undefined;
  readonly lodgings: Lodgings;
}): (scripts: readonly PendingScript[]) => Promise<void> {
  const { spawner, level, policy, lodgings } = options;
  return async (scripts) => {
    for (const script of scripts) {
      await using lodging = await lodgings();
      await using child = await spawner.spawn({
        argv: ['/bin/sh', '-c', script.command],
        env: {
          ...childEnvironment(lodging),
          PATH: `${dirname(process.execPath)}:${DEFAULT_SEARCH_PATH}`,
          npm_lifecycle_event: script.event,
          npm_package_name: script.packageName,
          INIT_CWD: script.folder,
        },
        cwd: script.folder,
        stdio: { kind: 'pipes', stdin: 'null' },
        limits: { timeoutMs: SCRIPT_TIMEOUT_MS },
        level,
        ...(policy === undefined ? {} : { policy }),
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
