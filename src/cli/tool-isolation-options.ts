import { type Command, Option } from 'commander';
import type { IsolationChoice } from '../sandbox/index.js';
import { collect } from './options.js';

export interface ToolIsolationFlags {
  readonly isolation: IsolationChoice;
  readonly net: readonly string[];
}

/** Adds the options that say what confines tools. */
export function withIsolationOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--isolation <level>', 'what confines tools; auto is the best there is')
        .choices(['auto', 'process', 'container'])
        .default('auto'),
    )
    .option(
      '--net <host:port>',
      'a host that tools may reach, or none, or full for every public one; may be given several times (default: full)',
      collect,
      [],
    );
}
