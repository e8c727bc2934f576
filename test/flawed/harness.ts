import { describe, expect, it } from 'vitest';
import { type Outcome, type RunOptions, runSuite, SUITES, type Target } from '../../src/conformance/index.js';

/** One mistake that a flawed program makes when it is told to. */
export interface Flaw {
  /** What `--flaw` takes. */
  readonly name: string;
  /** The checks that name this mistake: every one of them must fail. */
  readonly caughtBy: readonly string[];
  /** Checks that fail as well, each with the reason why they cannot help it. */
  readonly also?: Readonly<Record<string, string>>;
}

export interface RunningTarget {
  readonly target: Target;
  /** What the suite has to be told for this program alone. */
  readonly settings?: Readonly<Record<string, string>>;
  stop?(): Promise<void>;
}

export interface FlawTable {
  readonly suite: string;
  readonly flaws: readonly Flaw[];
  /** Gives the program with that flaw, or without any. A command needs no `stop`. */
  readonly start: (flaw: string | undefined) => RunningTarget | Promise<RunningTarget>;
  readonly settings?: Readonly<Record<string, string>>;
  /** The checks that are run, as `--only` takes them; all of them unless given. */
  readonly only?: readonly string[];
  /** What one check may take: a flaw that is silence costs this much. */
  readonly limitMs?: number;
  readonly jobs?: number;
  /**
   * Whether the program takes several flaws at once. Then each flaw is tried alone on the areas that its checks are in, and on
   * all other areas together with others, where a check costs a process or an install. What fails there is tried on every one
   * of them alone.
   */
  readonly together?: true;
}

/** How many flaws are tried at once: a check waits for its program most of the time. */
const AT_ONCE = 3;
const DEFAULT_LIMIT_MS = 4_000;
/** What a check gets that failed without a reason and is tried again. */
const PATIENT_LIMIT_MS = 30_000;
/** For all checks of a suite against one flaw, the wait for its turn included. */
const TEST_TIMEOUT_MS = 600_000;

/** The area of a check: `wasm.streams` of `wasm.streams.error`. */
const areaOf = (id: string): string => id.split('.').slice(0, 2).join('.');
const explainedBy = ({ caughtBy, also = {} }: Flaw): Set<string> => new Set([...caughtBy, ...Object.keys(also)]);
const areasOf = (flaw: Flaw): string[] => [...new Set([...explainedBy(flaw)].map(areaOf))].sort();

/** Shared by all tables of a file. */
const turn = turnstile(AT_ONCE);

/** Tests that the program passes without a flaw, and that each flaw is caught by the checks that name it and by no other. */
export function describeFlaws({
  suite,
  flaws,
  start,
  settings = {},
  only = [],
  limitMs = DEFAULT_LIMIT_MS,
  jobs = 2,
  together,
}: FlawTable): void {
  const failuresOf = (
    flaw: string | undefined,
    explained: ReadonlySet<string> = new Set(),
    asked: readonly string[] = only,
  ): Promise<Map<string, string>> =>
    turn(async () => {
      const { target, stop, settings: own = {} } = await start(flaw);
      const run = async (options: RunOptions): Promise<Map<string, string>> => {
        const { outcomes } = await runSuite(suite, target, { settings: { ...settings, ...own }, ...options });
        return new Map(outcomes.flatMap(failed));
      };
      try {
        const failures = await run({ limitMs, only: asked, jobs });
        const unexplained = [...failures.keys()].filter((id) => !explained.has(id));
        if (unexplained.length === 0) return failures;
        // A busy machine makes checks late. What fails for another reason fails again.
        const again = await run({ limitMs: PATIENT_LIMIT_MS, only: unexplained, jobs: 1 });
        return new Map([...[...failures].filter(([id]) => explained.has(id)), ...again]);
      } finally {
        await stop?.();
      }
    });

  describe.concurrent(`the suite ${suite}, tried on a flawed program`, { timeout: TEST_TIMEOUT_MS }, () => {
    it('finds nothing when no flaw is switched on', async () => {
      expect(Object.fromEntries(await failuresOf(undefined))).toEqual({});
    });

    it.each(flaws)('catches the flaw $name with $caughtBy and nothing else', async (flaw) => {
      const { name, caughtBy } = flaw;
      const explained = explainedBy(flaw);
      const failures = await failuresOf(name, explained, together ? areasOf(flaw) : only);
      const unexplained = [...failures].filter(([id]) => !explained.has(id));
      expect(Object.fromEntries(unexplained), 'checks that fail without reason').toEqual({});
      expect(
        caughtBy.filter((id) => !failures.has(id)),
        'checks that should have failed',
      ).toEqual([]);
    });

    if (together)
      it('has no check of other areas fail for any of them', async () => {
        const areas = [...new Set((await checkIds(suite)).map(areaOf))];
        await Promise.all(
          crossings(flaws, areas).map(async ({ names, far }) => {
            const suspects = [...(await failuresOf(names.join(','), new Set(), far)).keys()];
            if (suspects.length === 0) return;
            for (const name of names) {
              const failures = await failuresOf(name, new Set(), suspects);
              expect(Object.fromEntries(failures), `checks that fail without reason for ${name}`).toEqual({});
            }
          }),
        );
      });

    it('names only checks that exist, and every flaw once', async () => {
      const ids = new Set(await checkIds(suite));
      const named = flaws.flatMap((flaw) => [...explainedBy(flaw)]);
      expect(named.filter((id) => !ids.has(id))).toEqual([]);
      expect(new Set(flaws.map(({ name }) => name)).size).toBe(flaws.length);
    });
  });
}

interface Crossing {
  readonly names: string[];
  /** The areas that these flaws are tried on, of which none is theirs. */
  readonly far: string[];
}

/**
 * Runs in which each flaw meets every area that is not its own. Two areas differ in some bit of their numbers, so halving the
 * areas by each bit in turn, and trying the flaws of one half on the other, leaves only those flaws that are in both halves.
 */
function crossings(flaws: readonly Flaw[], areas: readonly string[]): Crossing[] {
  const unmet = new Map(flaws.map((flaw) => [flaw, new Set(areas.filter((area) => !areasOf(flaw).includes(area)))]));
  const found: Crossing[] = [];
  const cross = (far: readonly string[]): void => {
    const meeting = flaws.filter((flaw) => far.some((area) => unmet.get(flaw)?.has(area)) && apart(areasOf(flaw), far));
    if (meeting.length === 0) return;
    for (const flaw of meeting) for (const area of far) unmet.get(flaw)?.delete(area);
    found.push({ names: meeting.map(({ name }) => name), far: [...far] });
  };
  for (let bit = 1; bit < areas.length; bit *= 2) {
    cross(areas.filter((_, number) => (number & bit) === 0));
    cross(areas.filter((_, number) => (number & bit) !== 0));
  }
  for (const left of unmet.values()) if (left.size > 0) cross([...left]);
  return found;
}

const apart = (a: readonly string[], b: readonly string[]): boolean => a.every((one) => !b.includes(one));

async function checkIds(suite: string): Promise<string[]> {
  const loaded = await SUITES.find(({ name }) => name === suite)?.load();
  return loaded?.checks.map(({ id }) => id) ?? [];
}

function failed({ check, verdict }: Outcome): [string, string][] {
  if (verdict.status !== 'failed') return [];
  const { expected, cameBack } = verdict.failure;
  return [[check.id, `expected ${expected}; came back: ${cameBack}`]];
}

/** Lets so many through at once; the others wait. */
function turnstile(places: number): <T>(work: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = [];
  let free = places;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
