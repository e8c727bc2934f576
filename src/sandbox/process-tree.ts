import { setTimeout as pause } from 'node:timers/promises';
import { HOLD_LOOKS, KILL_ROUND_PAUSE_MS, KILL_ROUNDS } from './limits.js';
import {
  forgetProcessTable,
  type ProcessEntry,
  processTableOfThisTurn,
  readOnlyChild,
  readProcess,
  runs,
} from './process-table.js';

/** Stopped, traced, ended: what such a process does not do is fork. */
const STILL = new Set(['T', 't', 'Z', 'X']);

/** Sends a signal; false when there is nobody to receive it. A process of another user counts as unreachable. */
function send(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}

/**
 * Whether the leader is the command, or a supervisor: it stands between us and the first process of a pid namespace, its only
 * child, and must outlive polite signals.
 */
export type LeaderRole = 'command' | 'supervisor';

/**
 * A leader and everything it started: its session, whatever process groups that holds, and its descendants.
 *
 *     leader runs ──leaderEnded()──▶ left-overs, or nobody ──(a search finds nobody)──▶ empty, never signalled again
 *
 * The kernel does not hand out a number again while a session or group bears it. So a running process whose pid is that
 * of a leader already reaped proves that the old session is empty and the number belongs to a stranger now.
 *
 * A daemon that both left the session and lost its parents is out of reach here: a pid namespace catches it.
 */
export class ProcessTree {
  readonly leader: number;
  readonly #role: LeaderRole;
  #leaderAlive = true;
  #empty = false;
  /** The first process of the namespace under a supervisor, once somebody wanted to know. */
  #first: ProcessEntry | undefined;

  constructor(leader: number, role: LeaderRole = 'command') {
    this.leader = leader;
    this.#role = role;
  }

  /** Whether nobody of it is left, as far as is known. */
  get empty(): boolean {
    return this.#empty;
  }

  /** Finds the first process of the namespace, which spares searches later. After the leader's end it is too late. */
  learn(): ProcessEntry | undefined {
    if (this.#role === 'supervisor' && this.#leaderAlive) this.#first ??= readOnlyChild(this.leader);
    return this.#first;
  }

  /** Notes that the leader has ended and was reaped. */
  leaderEnded(): void {
    this.#leaderAlive = false;
    // In a table from before, the leader itself would look like a stranger who got its number.
    forgetProcessTable();
  }

  /** Finds who is alive, and remembers when that is nobody. */
  members(table: readonly ProcessEntry[], sessions: Set<number> = new Set([this.leader])): ProcessEntry[] {
    if (this.#empty) return [];
    if (!this.#leaderAlive && table.some((entry) => entry.pid === this.leader)) {
      this.#empty = true;
      return [];
    }
    const children = new Map<number, ProcessEntry[]>();
    const queue: ProcessEntry[] = [];
    for (const entry of table) {
      const siblings = children.get(entry.ppid);
      if (siblings === undefined) children.set(entry.ppid, [entry]);
      else siblings.push(entry);
      if (entry.pid === this.leader || sessions.has(entry.session)) queue.push(entry);
    }
    const found = new Map<number, ProcessEntry>();
    for (let entry = queue.pop(); entry !== undefined; entry = queue.pop()) {
      if (found.has(entry.pid)) continue;
      found.set(entry.pid, entry);
      // A descendant that leads a session of its own brings all of that session along.
      if (entry.session === entry.pid && !sessions.has(entry.session)) {
        sessions.add(entry.session);
        for (const other of table) if (other.session === entry.session) queue.push(other);
      }
      queue.push(...(children.get(entry.pid) ?? []));
    }
    const alive = [...found.values()].filter((entry) => entry.state !== 'Z' && entry.state !== 'X');
    if (alive.length === 0 && !this.#leaderAlive) this.#empty = true;
    return alive;
  }

  /** Sends a signal to all of it, once. True when somebody received it. */
  signal(signal: NodeJS.Signals, sessions: Set<number> = new Set([this.leader])): boolean {
    if (this.#empty) return false;
    if (signal === 'SIGKILL') {
      const first = this.#learnForGood();
      if (first !== undefined) return this.#endNamespace(first);
    }
    // The table comes first: once a parent is dead, nothing tells whose its children were.
    const members = this.members(processTableOfThisTurn(), sessions);
    const around = this.#role === 'supervisor' && signal !== 'SIGKILL';
    let reached = false;
    const groups = new Set<number>();
    for (const member of members) {
      // Groups are signalled whole, because only that is atomic against a fork. A group outside these sessions is not
      // ours to signal: a leader that has not called setsid yet still shares the group of the server.
      if (around && member.processGroup === this.leader) {
        if (member.pid !== this.leader) reached = send(member.pid, signal) || reached;
      } else if (sessions.has(member.session) && member.processGroup > 1) groups.add(member.processGroup);
      else reached = send(member.pid, signal) || reached;
    }
    // Without a process table (not Linux) the group of a living leader is all that is known.
    if (members.length === 0 && this.#leaderAlive) groups.add(this.leader);
    for (const group of groups) reached = send(-group, signal) || reached;
    return reached;
  }

  /** Kills all of it and resolves when a look at the process table finds nobody, or after a bounded number of looks. */
  async kill(): Promise<void> {
    if (this.#role === 'supervisor' && (await this.#killNamespace())) return;
    const sessions = new Set([this.leader]);
    for (let round = 0; round < KILL_ROUNDS; round += 1) {
      if (!this.signal('SIGKILL', sessions)) return;
      await pause(KILL_ROUND_PAUSE_MS);
    }
  }

  /**
   * Ends a pid namespace by its first process, with which the kernel ends all others before that one is gone. It spares the
   * search through every process of the machine. False when the first process is not known or does not go.
   */
  async #killNamespace(): Promise<boolean> {
    const first = this.#learnForGood();
    if (first === undefined) return false;
    for (let round = 0; round < KILL_ROUNDS; round += 1) {
      if (!this.#endNamespace(first)) return true;
      await pause(KILL_ROUND_PAUSE_MS);
    }
    return false;
  }

  /**
   * The same as {@link learn}, for who is about to kill: a supervisor that dies while it makes the namespace leaves one that
   * nobody supervises. Held still, it either has made the first process or never will.
   */
  #learnForGood(): ProcessEntry | undefined {
    if (this.#role !== 'supervisor' || !this.#leaderAlive || this.learn() !== undefined) return this.#first;
    send(this.leader, 'SIGSTOP');
    for (let look = 0; look < HOLD_LOOKS; look += 1) {
      const leader = readProcess(this.leader);
      if (leader === undefined || STILL.has(leader.state)) break;
    }
    return this.learn();
  }

  /** True when the first process of the namespace was there to be ended. */
  #endNamespace(first: ProcessEntry): boolean {
    if (this.#leaderAlive) send(this.leader, 'SIGKILL');
    if (runs(first)) return send(first.pid, 'SIGKILL');
    this.#empty = !this.#leaderAlive;
    return false;
  }
}
