import { writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import {
  badge,
  countOf,
  DEFAULT_CHECK_LIMIT_MS,
  jsonReport,
  junitReport,
  type LoadedSuite,
  loadSuite,
  type Report,
  runLoaded,
  type SuiteEntry,
  type Target,
  textReport,
} from '../conformance/index.js';
import { selectChecks } from '../conformance/select.js';
import { isSallyportError } from '../errors/index.js';
import { findProgram } from '../sandbox/index.js';
import { printable } from '../wire/index.js';
import { CliError, EXIT } from './exit.js';

export interface ConformanceFlags {
  readonly only?: readonly string[];
  readonly timeout?: number;
  readonly jobs: number;
  readonly verbose?: true;
  readonly json?: true;
  readonly junit?: string;
  readonly badge?: string;
  readonly list?: true;
  readonly url?: string;
  readonly apiKey?: string;
  /** The suite's own options, under names in camel case. */
  readonly [setting: string]: unknown;
}

/** Runs a suite against the target of the command line, reports, and gives the exit code. */
export async function judge(entry: SuiteEntry, words: readonly string[], flags: ConformanceFlags): Promise<number> {
  if (flags.list) return list(entry, flags);
  const target = targetOf(entry, words, flags);
  const { only = [], jobs, timeout: limitMs } = flags;
  const loaded = await usable(() =>
    loadSuite(entry.name, target, {
      only,
      settings: settingsOf(entry, flags),
      ...(limitMs === undefined ? {} : { limitMs }),
    }),
  );
  const progress = progressLine(loaded.checks.length);
  const interrupt = interruption();
  const { signal } = interrupt;
  const report = await runLoaded(loaded, { jobs, signal, onOutcome: ({ check }) => progress.step(check.id) });
  progress.clear();
  const by = interrupt.over();
  if (by !== undefined) {
    const done = `${report.outcomes.length} of ${loaded.checks.length} checks`;
    throw new CliError(`interrupted after ${done}`, 128 + constants.signals[by]);
  }
  process.stdout.write(render(report, loaded, flags, commandLine(entry, words, flags)));
  if (flags.junit !== undefined) write(flags.junit, junitReport(report));
  if (flags.badge !== undefined) write(flags.badge, badge(report));
  return countOf(report.outcomes).failedMusts === 0 ? EXIT.ok : EXIT.failure;
}

const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Turns what ends a program from outside into the end of a run, once: whoever insists does not wait for the cleaning up. */
function interruption(): { readonly signal: AbortSignal; over(): NodeJS.Signals | undefined } {
  const controller = new AbortController();
  let by: NodeJS.Signals | undefined;
  const hear = (signal: NodeJS.Signals): void => {
    by = signal;
    over();
    controller.abort();
  };
  const over = (): NodeJS.Signals | undefined => {
    for (const name of INTERRUPTS) process.removeListener(name, hear);
    return by;
  };
  for (const name of INTERRUPTS) process.on(name, hear);
  return { signal: controller.signal, over };
}

function render(
  report: Report,
  { suite }: LoadedSuite,
  flags: ConformanceFlags,
  again: (id: string) => string,
): string {
  if (flags.json) return jsonReport(report, flags.verbose ? 'all' : 'failed');
  const transcripts = flags.verbose ? 'all' : 'none';
  return textReport(report, { specifications: suite.specifications, transcripts, again });
}

async function list(entry: SuiteEntry, { json, only }: ConformanceFlags): Promise<number> {
  const { checks } = await entry.load();
  const chosen = await usable(async () => selectChecks(checks, only));
  const facts = chosen.map(({ run: _, ...check }) => check);
  const lines = facts.map(({ id, level, title }) => `${id} (${level}): ${title}`);
  process.stdout.write(json ? `${JSON.stringify(facts, null, 2)}\n` : `${lines.join('\n')}\n`);
  return EXIT.ok;
}

const ADDRESS = /^(?:wss?|https?):\/\//;

function targetOf({ name, accepts }: SuiteEntry, words: readonly string[], { url, apiKey }: ConformanceFlags): Target {
  const [first, ...rest] = words;
  const address = url ?? (first !== undefined && rest.length === 0 && ADDRESS.test(first) ? first : undefined);
  if (url !== undefined && first !== undefined) throw new CliError('give a command or --url, not both');
  if (address !== undefined) {
    if (apiKey !== undefined) return { kind: 'url', url: address, token: apiKey };
    const token = process.env['EXECUTOR_API_KEY'];
    return { kind: 'url', url: address, ...(token ? { token, tokenFrom: 'environment' } : {}) };
  }
  if (first !== undefined && ADDRESS.test(first)) {
    throw new CliError(`options go before an address: sallyport conformance ${name} ${suggested(first, rest)}`);
  }
  if (first === undefined) {
    const wanted = accepts.includes('command') ? `-- <command…>` : '<address>';
    throw new CliError(`nothing to judge: sallyport conformance ${name} ${wanted}`);
  }
  if (accepts.includes('command')) {
    const found = findProgram(first, process.env['PATH'] ?? '', process.cwd());
    if (!found.ok) throw new CliError(`cannot start ${printable(first, 80)}: ${found.errno}`);
  }
  return { kind: 'command', argv: words };
}

const suggested = (address: string, options: readonly string[]): string =>
  [...options, '--url', address].map(quoted).join(' ');

/** Commander gives `--registry-port` as `registryPort`. */
function settingsOf({ settings = [] }: SuiteEntry, flags: ConformanceFlags): Record<string, string> {
  const given: Record<string, string> = {};
  for (const { name } of settings) {
    const value = flags[name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
    if (typeof value === 'string') given[name] = value;
  }
  return given;
}

async function usable<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (isSallyportError(error)) throw new CliError(error.message);
    throw error;
  }
}

/** How to run one check again, with all that was said. */
function commandLine(entry: SuiteEntry, words: readonly string[], flags: ConformanceFlags): (id: string) => string {
  const settings = Object.entries(settingsOf(entry, flags)).map(([name, value]) => `--${name} ${quoted(value)}`);
  const { timeout } = flags;
  if (timeout !== undefined && timeout !== DEFAULT_CHECK_LIMIT_MS) settings.push(`--timeout ${timeout}`);
  const target = flags.url === undefined ? `-- ${words.map(quoted).join(' ')}` : `--url ${quoted(flags.url)}`;
  return (id) => ['sallyport conformance', entry.name, ...settings, '--only', id, '--verbose', target].join(' ');
}

/** A word as a shell takes it, safe to show. */
function quoted(word: string): string {
  const shown = printable(word, 1_000);
  return /^[\w@%+=:,./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`;
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CliError(`cannot write ${printable(file, 200)}: ${error instanceof Error ? error.message : error}`);
  }
}

/** One line on a terminal that says how far it is, and nothing anywhere else. */
function progressLine(total: number): { step(id: string): void; clear(): void } {
  let done = 0;
  const show = (text: string): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  };
  return {
    step(id) {
      done += 1;
      show(`${done}/${total} ${id}`);
    },
    clear: () => show(''),
  };
}
