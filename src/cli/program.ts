import { Command } from 'commander';
import { doctorCommand } from './doctor.js';
import { runCommand } from './run.js';
import { runnerCommand } from './runner.js';
import { sandboxCommand } from './sandbox.js';
import { packageVersion } from './version.js';

const EXAMPLES = `
Examples:
  sallyport doctor                 what this machine can confine, and how to get more
  sallyport <command> --help       options and an example of a command

Documentation: docs/ in the package, starting with docs/architecture.md`;

/** Builds the `sallyport` command: one file per subcommand, assembled here. */
export function program(): Command {
  const root = new Command('sallyport')
    .description('Run code that nobody has reviewed, behind a message boundary.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .enablePositionalOptions()
    .addHelpText('after', EXAMPLES)
    .action(() => {
      root.outputHelp();
    });
  root.addCommand(runCommand());
  root.addCommand(runnerCommand());
  root.addCommand(sandboxCommand());
  root.addCommand(doctorCommand());
  // Every command, also the ones below, throws instead of ending the process, so that one place decides the exit code.
  const commands = [root, ...root.commands];
  for (const command of commands) {
    command
      .exitOverride()
      .showHelpAfterError(`(see \`${command === root ? 'sallyport' : `sallyport ${command.name()}`} --help\`)`);
  }
  return root;
}
