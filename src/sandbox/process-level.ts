import { SallyportError } from '../errors/index.js';
import { kernelLimitPrefix } from './kernel-limits.js';
import type { Invocation, IsolationLevel } from './level.js';
import { argvFor } from './rename-program.js';
import type { Command } from './request.js';
import { checkFolder, resolveProgram } from './resolve-program.js';

function wrap(command: Command): Invocation {
  const { argv, env, cwd } = command;
  if (command.policy !== undefined) {
    throw new SallyportError('POLICY_INVALID', 'policy needs a level that confines: the level process cannot hold it', {
      field: 'policy',
    });
  }
  checkFolder(cwd);
  const [program, ...args] = argv;
  const plain = { file: resolveProgram(program, env, cwd), argv0: command.arg0 ?? program, args, env, cwd };
  const [tool, ...options] = kernelLimitPrefix(command.limits);
  if (tool === undefined) return plain;
  return { file: tool, argv0: tool, args: [...options, ...argvFor(plain)], env, cwd };
}

/** A child process of its own session, with the given environment and nothing else: no confinement beyond that. */
export const processLevel: IsolationLevel = {
  name: 'process',
  async probe() {
    return process.platform === 'win32'
      ? { available: false, reason: 'process groups and sessions need a POSIX system' }
      : { available: true };
  },
  wrap,
};
