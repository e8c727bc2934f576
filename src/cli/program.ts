import { Command } from 'commander';
import { closestName } from '../capabilities/closest.js';
import { implementationVersion } from '../tool/version.js';
import { printable } from '../wire/printable.js';
import { CliError } from './exit.js';

const EXAMPLES = `
Examples:
  sallyport serve
  echo '[1, 2, 3].map((n) => n * n)' | sallyport run -
  sallyport exec -- ls -l
  sallyport doctor

Each command has its own --help with examples. Documentation: docs/ in the package, starting with docs/architecture.md`;

interface CommandEntry {
  /** The name, and what follows it. */
  readonly usage: string;
  readonly summary: string;
  /** Loads the command itself, and with it what it needs. */
  readonly load: () => Promise<Command>;
}

/** Every command, one file each. Only the one that is asked for is loaded, so that none waits for what another needs. */
const COMMANDS: readonly CommandEntry[] = [
  {
    usage: 'serve',
    summary: 'serve all four boundaries on one port',
    load: async () => (await import('./serve.js')).serveCommand(),
  },
  {
    usage: 'run <file>',
    summary: 'run guest JavaScript or TypeScript, and print its result',
    load: async () => (await import('./run.js')).runCommand(),
  },
  {
    usage: 'exec <argv...>',
    summary: 'run a command through the process boundary',
    load: async () => (await import('./exec.js')).execCommand(),
  },
  {
    usage: 'wasm <module> <function> [json]',
    summary: 'call a function of a WebAssembly guest, or look at a module',
    load: async () => (await import('./wasm.js')).wasmCommand(),
  },
  {
    usage: 'tool <package[@version]> <export> [params]',
    summary: 'run a tool of an npm package, and print its result',
    load: async () => (await import('./tool.js')).toolCommand(),
  },
  {
    usage: 'sandbox <argv...>',
    summary: 'run a command in a room of its own, to try a policy',
    load: async () => (await import('./sandbox.js')).sandboxCommand(),
  },
  {
    usage: 'runner',
    summary: 'serve the execbox runner protocol on stdio, or on a WebSocket',
    load: async () => (await import('./runner.js')).runnerCommand(),
  },
  {
    usage: 'exec-server',
    summary: 'serve the exec-server protocol on stdio, or on a WebSocket',
    load: async () => (await import('./exec-server.js')).execServerCommand(),
  },
  {
    usage: 'serve-tools',
    summary: 'serve npm tools over HTTP (TPMJS Executor Protocol 1.0)',
    load: async () => (await import('./serve-tools.js')).serveToolsCommand(),
  },
  {
    usage: 'key create <name>',
    summary: 'make a key for a server that has several',
    load: async () => (await import('./key.js')).keyCommand(),
  },
  {
    usage: 'conformance <suite> <target>',
    summary: 'judge an implementation of one of the protocols',
    load: async () => (await import('./conformance.js')).conformanceCommand(),
  },
  {
    usage: 'doctor',
    summary: 'say what this machine can confine, and how to get more',
    load: async () => (await import('./doctor.js')).doctorCommand(),
  },
];

/** Builds the `sallyport` command for the arguments that it is called with. */
export async function program(args: readonly string[]): Promise<Command> {
  const root = new Command('sallyport')
    .description('Run code that nobody has reviewed, behind a message boundary.')
    .version(implementationVersion(), '-V, --version', 'print the version')
    .enablePositionalOptions()
    .helpCommand(true)
    .addHelpText('after', EXAMPLES)
    .action(() => {
      root.outputHelp();
    });
  const words = args.filter((arg) => !arg.startsWith('-'));
  const wanted = words[0] === 'help' ? words[1] : words[0];
  if (wanted !== undefined && wanted !== 'help') requireKnown(wanted);
  for (const { usage, summary, load } of COMMANDS) {
    const [name = '', ...rest] = usage.split(' ');
    if (name === wanted) root.addCommand((await load()).description(summary));
    else root.addCommand(new Command(name).description(summary).usage(`[options] ${rest.join(' ')}`.trim()));
  }
  root.configureHelp({ subcommandTerm: (command) => `${command.name()} ${command.usage()}` });
  settle(root);
  return root;
}

function requireKnown(wanted: string): void {
  const names = COMMANDS.map(({ usage }) => usage.split(' ')[0] ?? '');
  if (names.includes(wanted)) return;
  const near = closestName(wanted, names);
  const hint = near === undefined ? 'see `sallyport --help`' : `did you mean ${near}?`;
  throw new CliError(`unknown command '${printable(wanted, 40)}': ${hint}`);
}

/** Every command throws instead of ending the process, so that one place decides the exit code. */
function settle(command: Command): void {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  command.exitOverride().showHelpAfterError(`(see \`${names.join(' ')} --help\`)`);
  for (const child of command.commands) settle(child);
}
