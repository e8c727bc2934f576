import { SallyportError } from '../errors/index.js';
import { printable } from '../wire/index.js';
import type { RunContext } from './context.js';
import { DEFAULT_JOBS } from './limits.js';
import type { Outcome, Report } from './outcome.js';
import { runCheck } from './run-check.js';
import { selectChecks } from './select.js';
import type { Suite, SuiteCheck } from './suite.js';
import { SUITES, type SuiteEntry } from './suites.js';
import { describeTarget, kindOf, type Target } from './target/target.js';

export interface RunOptions {
  /** Ids, beginnings of ids, or patterns with `*`. All checks unless given. */
  readonly only?: readonly string[];
  /** What each check may take, the start of its target included; 10 seconds unless given, and more where it installs something. */
  readonly limitMs?: number;
  /** How many checks run at once; at least one. */
  readonly jobs?: number;
  /** The suite's own options, by name. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Hears of each outcome as it comes. */
  readonly onOutcome?: (outcome: Outcome) => void;
  /** Stops the run. Checks at hand are given up and cleaned up after, and have no outcome. */
  readonly signal?: AbortSignal;
}

/** A suite that was loaded for one target. */
export interface LoadedSuite {
  readonly suite: Suite;
  readonly checks: readonly SuiteCheck[];
  readonly context: RunContext;
}

/** Loads a suite for a target. Throws CONFORMANCE_UNKNOWN or CONFORMANCE_TARGET. */
export async function loadSuite(name: string, target: Target, options: RunOptions = {}): Promise<LoadedSuite> {
  const entry = entryOf(name);
  requireTarget(entry, target);
  const settings = settingsOf(entry, options.settings ?? {});
  const suite = await entry.load();
  const { limitMs } = options;
  const context = { target, settings, ...(limitMs === undefined ? {} : { limitMs }) };
  return { suite, context, checks: selectChecks(suite.checks, options.only) };
}

/** Runs the checks of a suite, each against a fresh target, and reports on all of them. */
export async function runSuite(name: string, target: Target, options: RunOptions = {}): Promise<Report> {
  return runLoaded(await loadSuite(name, target, options), options);
}

/** Runs the checks of a suite that is loaded already. */
export async function runLoaded(loaded: LoadedSuite, options: RunOptions = {}): Promise<Report> {
  const { suite, checks, context } = loaded;
  const began = performance.now();
  const outcomes = new Map<SuiteCheck, Outcome>();
  const queue = checks.values();
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const work = async (): Promise<void> => {
    try {
      for (const check of queue) {
        if (signal.aborted) return;
        const outcome = await runCheck(check, context, signal);
        outcomes.set(check, outcome);
        options.onOutcome?.(outcome);
      }
    } catch (error) {
      // Who stopped the run knows why. What the caller's own function throws stops the others, too.
      if (!signal.aborted) failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, options.jobs ?? DEFAULT_JOBS) }, work));
  await suite.close?.(context);
  failed.signal.throwIfAborted();
  return {
    suite: suite.name,
    title: suite.title,
    target: describeTarget(context.target),
    groups: suite.groups,
    outcomes: checks.flatMap((check) => outcomes.get(check) ?? []),
    durationMs: Math.round(performance.now() - began),
  };
}

function entryOf(name: string): SuiteEntry {
  const entry = SUITES.find((candidate) => candidate.name === name);
  if (entry !== undefined) return entry;
  const known = SUITES.map((candidate) => candidate.name).join(', ');
  throw new SallyportError('CONFORMANCE_UNKNOWN', `no suite ${printable(name, 40)}: there are ${known}`);
}

const KINDS = { command: 'a command', websocket: 'a ws: or wss: address', http: 'an http: or https: address' } as const;

function requireTarget({ name, accepts }: SuiteEntry, target: Target): void {
  const kind = kindOf(target);
  if (kind !== undefined && accepts.includes(kind)) return;
  const wanted = accepts.map((accepted) => KINDS[accepted]).join(' or ');
  const message = `the suite ${name} judges ${wanted}, not ${printable(describeTarget(target), 80)}`;
  throw new SallyportError('CONFORMANCE_TARGET', message);
}

/** The given values and the defaults of the others. Throws CONFORMANCE_TARGET for one that the suite does not have. */
function settingsOf(entry: SuiteEntry, given: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const settings = new Map<string, string>();
  for (const { name, fallback } of entry.settings ?? []) if (fallback !== undefined) settings.set(name, fallback);
  for (const [name, value] of Object.entries(given)) {
    const known = entry.settings?.find((setting) => setting.name === name);
    const refuse = (why: string): SallyportError =>
      new SallyportError('CONFORMANCE_TARGET', `the suite ${entry.name} ${why}`);
    if (known === undefined) throw refuse(`has no option ${printable(name, 40)}`);
    if (known.choices?.includes(value) === false) {
      throw refuse(`knows ${name} as ${known.choices.join(', ')}, not ${printable(value, 40)}`);
    }
    if (known.accepts?.(value) === false)
      throw refuse(`takes a ${known.value} for ${name}, not ${printable(value, 40)}`);
    settings.set(name, value);
  }
  return settings;
}
