import { Command, Option } from 'commander';
import { closestName } from '../capabilities/closest.js';
import { DEFAULT_CHECK_LIMIT_MS, DEFAULT_JOBS, SUITES, type SuiteEntry } from '../conformance/index.js';
import { printable } from '../wire/printable.js';
import { CliError } from './exit.js';
import type { ConformanceFlags } from './judge.js';
import { collect, positiveInteger } from './options.js';

const HELP = `
A target is a command that speaks the protocol on standard input and output, or an address. Each check gets a fresh process or
connection, which is ended with everything it started. The exit code is 0 when no MUST failed, 1 when one did, 2 when the
command line cannot be used.

Examples:
  sallyport conformance runner -- node my-runner.mjs
  sallyport conformance runner --url ws://127.0.0.1:9000 --junit report.xml
  sallyport conformance runner --only runner.logs --verbose -- ./my-runner
  sallyport conformance runner --list`;

/** `sallyport conformance`: one subcommand per suite. */
export function conformanceCommand(): Command {
  const command = new Command('conformance')
    .enablePositionalOptions()
    .argument('[suite...]', 'which protocol and side')
    .addHelpText('after', HELP)
    .action(([unknown]: string[]) => {
      if (unknown !== undefined) throw new CliError(unknownSuite(unknown));
      command.outputHelp();
    });
  for (const entry of SUITES) command.addCommand(suiteCommand(entry));
  return command;
}

function unknownSuite(name: string): string {
  const names = SUITES.map((entry) => entry.name);
  const near = closestName(name, names);
  const hint = near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`;
  return `no suite ${printable(name, 40)}: ${hint}`;
}

function suiteCommand(entry: SuiteEntry): Command {
  const { name, summary, accepts, settings = [] } = entry;
  const command = new Command(name)
    .description(summary)
    .argument('[target...]', accepts.includes('command') ? 'the command, after --, or an address' : 'the address')
    .option('--only <id>', 'a check, the beginning of its id, or a pattern with * (repeatable)', collect)
    .option(
      '--timeout <ms>',
      `what one check may take (default: ${DEFAULT_CHECK_LIMIT_MS}, more where it installs)`,
      positiveInteger,
    )
    .option('--jobs <number>', 'how many checks run at once', positiveInteger, DEFAULT_JOBS)
    .option('--verbose', 'print every message of every check')
    .option('--json', 'print the report as JSON')
    .option('--junit <file>', 'also write a JUnit file')
    .option('--badge <file>', 'also write a badge, as SVG')
    .option('--list', 'list the checks, and run none');
  // The options of a command are its own. Behind an address they would be taken for a command's too, and are refused.
  if (accepts.includes('command')) command.passThroughOptions();
  if (accepts.some((kind) => kind !== 'command')) {
    command
      .option('--url <address>', 'an address instead of a command')
      .option('--api-key <key>', 'sent as a bearer token; EXECUTOR_API_KEY unless given');
  }
  for (const setting of settings) {
    const option = new Option(`--${setting.name} <${setting.value}>`, setting.help);
    if (setting.choices !== undefined) option.choices([...setting.choices]);
    command.addOption(setting.fallback === undefined ? option : option.default(setting.fallback));
  }
  return command.action(async (words: string[], flags: ConformanceFlags) => {
    const { judge } = await import('./judge.js');
    process.exitCode = await judge(entry, words, flags);
  });
}
