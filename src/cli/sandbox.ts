import { constants } from 'node:os';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { isSallyportError } from '../errors/index.js';
import {
  createSpawner,
  DEFAULT_LIMITS,
  type OutputStream,
  type Policy,
  type ProxyDecision,
  resolveIsolation,
} from '../sandbox/index.js';
import { printable } from '../wire/index.js';
import { CliError } from './exit.js';
import { networkOf } from './network-option.js';
import { collect, positiveInteger } from './options.js';

interface SandboxFlags {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly hide: readonly string[];
  readonly net: readonly string[];
  readonly env: readonly string[];
  readonly cwd?: string;
  readonly memory?: number;
  readonly pids?: number;
  readonly cpu?: number;
  readonly tmp?: number;
  readonly time?: number;
  readonly verbose?: true;
}

const HELP = `
Nothing is granted that is not named: no files but the system's programs, no network, and of the environment only PATH, LANG
and TERM. --net takes none, loopback, full (every public host), host (the machine's own network), or host:port as often as needed.
The exit code is that of the command; 128 and a number for a signal; 124 when its time was up; 125 when it was refused.

Examples:
  sallyport sandbox -- id
  sallyport sandbox --write . --memory 512m --time 30 -- npm test
  sallyport sandbox --net api.example.com:443 --verbose -- curl -sI https://api.example.com/`;

const TIMED_OUT = 124;
const REFUSED = 125;
const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** Reads a number of bytes, such as 512m. */
function bytes(text: string): number {
  const [, digits, unit] = /^(\d{1,12})([kmg]?)$/i.exec(text) ?? [];
  const value = Number(digits) * (UNITS[(unit ?? '').toLowerCase()] ?? Number.NaN);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('expected bytes, such as 1048576 or 512m');
  return value;
}

const path = (value: string, earlier: readonly string[]): readonly string[] => collect(resolve(value), earlier);

/** `sallyport sandbox`: runs one command in a room of its own. */
export function sandboxCommand(): Command {
  return new Command('sandbox')
    .description('run a command confined, to try a policy')
    .argument('<argv...>', 'the command and its arguments, after --')
    .option('--read <path>', 'a file or folder to see (may be repeated)', path, [])
    .option('--write <path>', 'a file or folder to see and change (may be repeated)', path, [])
    .option('--hide <path>', 'what stays invisible inside one of them (may be repeated)', path, [])
    .option('--net <host:port>', 'a host to reach, or none, loopback, full, host (may be repeated)', collect, [])
    .option('--env <name=value>', 'a variable, or only a name to hand on ours (may be repeated)', collect, [])
    .option('--cwd <path>', 'where to start: the first --write, or /tmp')
    .option('--memory <bytes>', 'memory of all processes together', bytes)
    .option('--pids <number>', 'processes and threads', positiveInteger)
    .option('--cpu <seconds>', 'processor time of each process', positiveInteger)
    .option('--tmp <bytes>', 'size of the private /tmp and /home', bytes)
    .option('--time <seconds>', 'time until it is ended', positiveInteger)
    .option('--verbose', 'say what holds, and every connection that was allowed or refused, on stderr')
    .passThroughOptions()
    .addHelpText('after', HELP)
    .action(run);
}

function policyOf(flags: SandboxFlags): Policy {
  return {
    filesystem: { read: flags.read, write: flags.write, hide: flags.hide },
    network: networkOf(flags.net),
    limits: {
      ...DEFAULT_LIMITS,
      ...(flags.memory === undefined ? {} : { memoryBytes: flags.memory }),
      ...(flags.pids === undefined ? {} : { processes: flags.pids }),
      ...(flags.cpu === undefined ? {} : { cpuSeconds: flags.cpu }),
      ...(flags.tmp === undefined ? {} : { tmpBytes: flags.tmp }),
    },
  };
}

function environmentOf(entries: readonly string[]): Record<string, string> {
  const env = new Map<string, string>();
  for (const name of ['PATH', 'LANG', 'TERM', ...entries]) {
    const at = name.indexOf('=');
    const value = at < 0 ? process.env[name] : name.slice(at + 1);
    if (value !== undefined) env.set(at < 0 ? name : name.slice(0, at), value);
  }
  return Object.fromEntries(env);
}

const say = (line: string): void => {
  process.stderr.write(`sallyport sandbox: ${printable(line, 2_000)}\n`);
};

function sayDecision({ verdict, protocol, host, port, address, reason }: ProxyDecision): void {
  say(`${verdict} ${protocol} ${host}:${port}${address === undefined ? '' : ` at ${address}`}: ${reason}`);
}

/** Hands bytes on no faster than whoever reads them takes them. */
function forward(output: OutputStream, to: NodeJS.WriteStream): void {
  output.onData((chunk) => {
    if (to.write(chunk)) return;
    output.pause();
    to.once('drain', () => output.resume());
  });
}

async function run(argv: string[], flags: SandboxFlags): Promise<void> {
  try {
    process.exitCode = await runConfined(argv, flags);
  } catch (error) {
    if (!isSallyportError(error)) throw error;
    throw new CliError(error.message, REFUSED);
  }
}

async function runConfined(argv: string[], flags: SandboxFlags): Promise<number> {
  const onDecision = flags.verbose ? sayDecision : () => {};
  const isolation = await resolveIsolation('container', { policy: policyOf(flags), onDecision });
  if (flags.verbose) {
    say(isolation.reason);
    for (const [limit, hold] of Object.entries(isolation.enforcement ?? {})) say(`${limit}: ${hold}`);
  }
  await using spawner = createSpawner({ levels: isolation.levels });
  // Always through pipes: a terminal that is shared with what is outside can be typed into.
  const child = await spawner.spawn({
    argv,
    env: environmentOf(flags.env),
    cwd: flags.cwd === undefined ? (flags.write[0] ?? '/tmp') : resolve(flags.cwd),
    stdio: { kind: 'pipes', stdin: 'pipe' },
    level: isolation.name,
    ...(flags.time === undefined ? {} : { limits: { timeoutMs: flags.time * 1_000 } }),
  });
  const [stdout, stderr] = child.outputs;
  if (stdout !== undefined) forward(stdout, process.stdout);
  if (stderr !== undefined) forward(stderr, process.stderr);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  feed(child.input);
  const { exitCode, signal, timedOut, limit } = await child.exited;
  await child.drained;
  process.stdin.destroy();
  if (limit !== undefined) say(`the limit of ${limit} was hit`);
  if (timedOut) say('its time was up');
  return timedOut ? TIMED_OUT : (exitCode ?? 128 + signalNumber(signal));
}

function feed(input: { write(bytes: Uint8Array): Promise<void>; end(): Promise<void> } | undefined): void {
  process.stdin.on('data', (chunk: Buffer) => {
    process.stdin.pause();
    // A command that reads no more input is no error.
    input?.write(chunk).then(
      () => process.stdin.resume(),
      () => {},
    );
  });
  process.stdin.once('end', () => void input?.end().catch(() => {}));
  process.stdin.on('error', () => {});
}

function signalNumber(signal: NodeJS.Signals | null): number {
  return signal === null ? 0 : (constants.signals[signal] ?? 0);
}
