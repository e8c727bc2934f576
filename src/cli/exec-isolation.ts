import { type Command, Option } from 'commander';
import { isSallyportError } from '../errors/index.js';
import { createExecServer, type ExecServer, type ExecServerOptions, execPolicy } from '../process/index.js';
import { createSpawner, type IsolationChoice, resolveIsolation } from '../sandbox/index.js';
import { CliError, EXIT } from './exit.js';
import { collect } from './options.js';
import { defaultToolCache } from './tool-cache.js';

export interface ExecIsolationFlags {
  readonly isolation: IsolationChoice;
  readonly workspace: readonly string[];
}

/** Adds the options that say how commands are confined. */
export function withIsolationOptions(command: Command): Command {
  const isolation = new Option('--isolation <level>', 'how commands are confined').default('process');
  return command
    .addOption(isolation.choices(['process', 'container', 'auto'] satisfies IsolationChoice[]))
    .option('--workspace <folder>', 'at level container: where commands may work and write (repeatable)', collect, []);
}

/** Makes a server whose commands are confined as asked. Throws where that cannot hold; `auto` says what it became instead. */
export async function confinedExecServer(
  flags: ExecIsolationFlags,
  options: ExecServerOptions,
  say: (line: string) => void,
): Promise<ExecServer> {
  if (flags.isolation === 'process') {
    if (flags.workspace.length > 0) throw new CliError('--workspace needs --isolation container or auto', EXIT.failure);
    return createExecServer(options);
  }
  try {
    const policy = execPolicy({ workspace: flags.workspace, protect: [defaultToolCache()] });
    const { name, levels, reason } = await resolveIsolation(flags.isolation, { policy: policy.forCommand });
    if (name === 'process') {
      say(`commands are not confined: ${reason}`);
      return createExecServer(options);
    }
    const spawner = createSpawner({ levels });
    const server = createExecServer({ ...options, spawner, level: name, policy });
    const dispose = async (): Promise<void> => {
      await server.dispose();
      await spawner.dispose();
    };
    return { ...server, dispose, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    if (isSallyportError(error)) throw new CliError(error.message, EXIT.failure);
    throw error;
  }
}
