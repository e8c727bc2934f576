import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { Command } from 'commander';
import { ExecClient, type ExecServer, type ProcessHandle } from '../process/index.js';
import { confinedExecServer, type ExecIsolationFlags, withIsolationOptions } from './exec-isolation.js';
import { CliError } from './exit.js';
import { collectVariable, timeLimit } from './options.js';

const EXAMPLES = `
Examples:
  sallyport exec -- ls -l                               run a command, with its exit code
  sallyport exec --tty -- bash                          a terminal
  sallyport exec --timeout 10s --env K=V -- make test
  sallyport exec --isolation container -- make          it sees this folder, the system's programs and no network
  sallyport exec --url ws://127.0.0.1:8080 -- uname     on another machine; the token is taken from EXECUTOR_API_KEY

The command gets the core of the environment (PATH, HOME, LANG, …) and what --env names. When its time is up it is ended
and the exit code is 124.`;

/** The exit code of timeout(1). */
const TIMED_OUT = 124;

interface Options extends ExecIsolationFlags {
  readonly tty?: boolean;
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeout?: number;
  readonly url?: string;
}

/** Builds `sallyport exec`. */
export function execCommand(): Command {
  const command = new Command('exec')
    .description('Run a command through the process boundary.')
    .argument('<argv...>', 'the program and its arguments, after --')
    .option('-t, --tty', 'give it a terminal')
    .option('--cwd <folder>', 'where it runs; the current folder, or / with --url')
    .option('--env <name=value>', 'a variable of its environment (repeatable)', collectVariable, {})
    .option('--timeout <duration>', 'how long it may run, such as 500ms, 10s or 2m', timeLimit)
    .option('--url <address>', 'a server to run it on; in this process unless given')
    .passThroughOptions()
    .addHelpText('after', EXAMPLES)
    .action(async (argv: string[], options: Options) => {
      process.exitCode = await run(argv, options);
    });
  return withIsolationOptions(command);
}

async function run(argv: readonly string[], options: Options): Promise<number> {
  if (options.url !== undefined && options.isolation !== 'process') {
    throw new CliError('--isolation is for commands that run here: with --url the server decides');
  }
  const say = (line: string): void => void process.stderr.write(`sallyport exec: ${line}\n`);
  const server = options.url === undefined ? await confinedExecServer(options, {}, say) : undefined;
  const client = await connect(server, options.url);
  const giveUp = (): void => {
    restoreTerminal();
    void client.close().finally(() => process.exit(143));
  };
  process.once('SIGTERM', giveUp);
  process.once('SIGHUP', giveUp);
  try {
    const handle = await client.start({
      argv,
      cwd: options.url === undefined ? resolve(options.cwd ?? '.') : (options.cwd ?? '/'),
      env: { ...(options.tty ? { TERM: process.env['TERM'] ?? 'xterm' } : {}), ...options.env },
      envPolicy: { inherit: 'core', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] },
      stdio: options.tty ? { kind: 'terminal', ...ownSize() } : 'pipes-with-stdin',
      ...(options.timeout === undefined ? {} : { timeoutMs: options.timeout }),
    });
    feed(handle, options.tty ? 'terminal' : 'pipe');
    const shown = show(handle);
    const { exitCode, timedOut } = await Promise.race([handle.wait(), shown.then(() => handle.wait())]);
    // Whatever the command wrote itself is here already; what it left running may write on, but is not waited for.
    await Promise.race([shown, new Promise((done) => setImmediate(done))]);
    await flushed();
    if (timedOut) process.stderr.write(`sallyport: the command was ended after ${options.timeout} ms\n`);
    return timedOut ? TIMED_OUT : exitCode;
  } finally {
    restoreTerminal();
    process.stdin.destroy();
    await client.close();
    await server?.dispose();
  }
}

function connect(server: ExecServer | undefined, url: string | undefined): Promise<ExecClient> {
  if (server !== undefined) return ExecClient.connectInProcess(server);
  const token = process.env['EXECUTOR_API_KEY'];
  return ExecClient.connectWebSocket(url ?? '', token === undefined ? {} : { token });
}

function ownSize(): { rows: number; cols: number } {
  return { rows: process.stdout.rows || 24, cols: process.stdout.columns || 80 };
}

/** Hands our input to the command; in a terminal that includes Ctrl-C, otherwise the signal is passed on. */
function feed(handle: ProcessHandle, kind: 'terminal' | 'pipe'): void {
  const { stdin } = process;
  const ignore = (): void => {};
  if (kind === 'terminal') {
    if (stdin.isTTY) {
      stdin.setRawMode(true);
      // Node's raw mode still rewrites line ends, which the far terminal has done already.
      stty('-opost');
    }
    process.stdout.on('resize', () => void handle.resize(ownSize()).catch(ignore));
  } else {
    process.on('SIGINT', () => void handle.signal('SIGINT').catch(ignore));
  }
  stdin.on('data', (bytes: Buffer) => {
    // Read on when the server has it: a command that is slow to read slows us.
    stdin.pause();
    handle.write(bytes).then(
      () => stdin.resume(),
      () => stdin.destroy(),
    );
  });
  stdin.on('end', () => void handle.closeStdin().catch(ignore));
  stdin.on('error', ignore);
}

async function show(handle: ProcessHandle): Promise<void> {
  for await (const { stream, bytes } of handle.pieces()) {
    const target = stream === 'stderr' ? process.stderr : process.stdout;
    if (!target.write(bytes)) await new Promise((done) => target.once('drain', done));
  }
}

async function flushed(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map((target) => new Promise((done) => target.write('', done))));
}

function restoreTerminal(): void {
  if (!process.stdin.isTTY || !process.stdin.isRaw) return;
  process.stdin.setRawMode(false);
  stty('opost');
}

/** Sets what Node cannot. Without stty the lines of a terminal end with one CR too many, which does no harm. */
function stty(setting: string): void {
  spawnSync('stty', [setting], { stdio: ['inherit', 'ignore', 'ignore'] });
}
