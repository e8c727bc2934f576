import { Command } from 'commander';
import { doctorCommand } from './doctor.js';
import { packageVersion } from './version.js';

/** Builds the `sallyport` command: one file per subcommand, assembled here. */
export function program(): Command {
  const root = new Command('sallyport')
    .description('Run code that nobody has reviewed, behind a message boundary.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .showHelpAfterError('(see `sallyport --help`)')
    .configureHelp({ showGlobalOptions: true });
  root.addCommand(doctorCommand());
  return root;
}
