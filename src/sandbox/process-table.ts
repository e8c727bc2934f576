import { closeSync, openSync, readdirSync, readSync } from 'node:fs';

/** One line of the process table, as far as ending processes needs it. */
export interface ProcessEntry {
  readonly pid: number;
  /** One letter: R, S, D, T, Z (ended, not reaped), X (gone). */
  readonly state: string;
  readonly ppid: number;
  readonly processGroup: number;
  readonly session: number;
  /** When it was started, in ticks since the machine was. Together with the number it names one process for good. */
  readonly startedAt: number;
}

/** Where the start time stands, counted from the state. */
const START_FIELD = 19;

/** Reads `/proc/<pid>/stat`. The program's name may hold blanks and parentheses, so fields count from the last `)`. */
export function parseStat(text: string): ProcessEntry | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < open) return undefined;
  const pid = Number(text.slice(0, open));
  const fields = text.slice(close + 2).split(' ', START_FIELD + 1);
  const [state, ppid, processGroup, session] = fields;
  const entry = {
    pid,
    state: state ?? '',
    ppid: Number(ppid),
    processGroup: Number(processGroup),
    session: Number(session),
    startedAt: Number(fields[START_FIELD]),
  };
  const numbers = [entry.pid, entry.ppid, entry.processGroup, entry.session, entry.startedAt];
  return numbers.every(Number.isInteger) && entry.state.length === 1 ? entry : undefined;
}

/** Holds any file that is read here. Such files do not tell their size, and Node would take 64 KiB for each anew. */
const page = Buffer.allocUnsafeSlow(8192);

/** Reads a short file of the kernel's, or nothing when it is not there. */
function readShort(file: string): string | undefined {
  let handle: number | undefined;
  try {
    handle = openSync(file, 'r');
    return page.toString('latin1', 0, readSync(handle, page, 0, page.length, null));
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** Reads one process, or nothing when it is gone. */
export function readProcess(pid: number): ProcessEntry | undefined {
  const text = readShort(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** Whether that very process still runs. */
export function runs({ pid, startedAt }: ProcessEntry): boolean {
  const now = readProcess(pid);
  return now !== undefined && now.startedAt === startedAt && now.state !== 'Z' && now.state !== 'X';
}

/** Reads the only child of a process with one thread, or nothing when it has none, or several, or the kernel keeps no such list. */
export function readOnlyChild(pid: number): ProcessEntry | undefined {
  const children = readShort(`/proc/${pid}/task/${pid}/children`)?.trim() ?? '';
  return /^\d+$/.test(children) ? readProcess(Number(children)) : undefined;
}

function numberIn(file: string, pattern: RegExp): number {
  return Number(pattern.exec(readShort(file) ?? '')?.[1] ?? Number.NaN);
}

/** How many processes and threads were ever started on this machine. */
const startedEver = (): number => numberIn('/proc/stat', /^processes (\d+)$/m);

let highest: number | undefined;

/**
 * Remembers when a process was started, in terms of the kernel's count. Numbers are given out upwards, so what was started
 * later has a higher one, unless the kernel has started over since. That is known from how many it gave meanwhile.
 */
export class StartMark {
  readonly #pid: number;
  readonly #started = startedEver();

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Tells which processes can have been started later: those with higher numbers, or any when that cannot be known. */
  later(): (pid: number) => boolean {
    highest ??= numberIn('/proc/sys/kernel/pid_max', /^(\d+)/);
    const last = numberIn('/proc/loadavg', /(\d+)\s*$/);
    const sinceThen = startedEver() - this.#started;
    return last >= this.#pid && sinceThen < highest / 2 ? (pid) => pid > this.#pid : () => true;
  }
}

/**
 * Reads the whole process table. It is read without yielding to the event loop, so that a parent and the child it
 * forks meanwhile are seen as close together as possible. Systems without /proc give an empty table.
 */
export function readProcessTable(): ProcessEntry[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  const table: ProcessEntry[] = [];
  for (const name of names) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const entry = readProcess(pid);
    if (entry !== undefined) table.push(entry);
  }
  return table;
}

let latest: readonly ProcessEntry[] | undefined;

/**
 * The process table as it was read in this turn of the event loop. To read it takes milliseconds, and who ends many trees
 * at once needs it for each of them. What is forked meanwhile is found in a later turn, as it would be anyway.
 */
export function processTableOfThisTurn(): readonly ProcessEntry[] {
  if (latest !== undefined) return latest;
  latest = readProcessTable();
  setImmediate(forgetProcessTable);
  return latest;
}

/** Has the table read anew, for whoever knows that it has changed. */
export function forgetProcessTable(): void {
  latest = undefined;
}
