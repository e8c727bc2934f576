import { Command } from 'commander';
import { CliError } from './exit.js';

const HELP = `
The key is printed once and kept nowhere: hand it to whoever uses it. What the server needs is its hash, as an entry of
\`keys\` in the configuration. Beside it an entry may have boundaries, ratePerMinute, concurrency and policy.

Example:
  $ sallyport key create ci`;

/** `sallyport key`: keys for a server that has several. */
export function keyCommand(): Command {
  const command = new Command('key').description('Make keys for a server.');
  command
    .command('create <name>')
    .description('Make a key, print it once, and print the entry for the configuration.')
    .option('--json', 'print both as JSON')
    .addHelpText('after', HELP)
    .action(async (name: string, options: { readonly json?: true }) => {
      if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) {
        throw new CliError(
          `${JSON.stringify(name)} cannot name a key: use letters, digits, dots, dashes and underscores`,
        );
      }
      const { hashKey, makeKey } = await import('../server/access/keys.js');
      const key = makeKey();
      const entry = { name, hash: hashKey(key) };
      const text = options.json
        ? JSON.stringify({ key, entry })
        : `${key}\n\nAdd this to \`keys\` in the configuration, and send SIGHUP to a server that runs:\n${JSON.stringify(entry)}`;
      process.stdout.write(`${text}\n`);
    });
  return command;
}
