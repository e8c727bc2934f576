import type { Guardian } from './guardian.js';
import { LEARN_DELAY_MS, SWEEP_DELAY_MS } from './limits.js';
import { type Priority, standBack } from './priority.js';
import { readProcessTable, runs } from './process-table.js';
import { type LeaderRole, ProcessTree } from './process-tree.js';

/**
 * Which trees may still have somebody in them.
 *
 * A leader's exit says nothing about the rest of its session, and finding out means to read the whole process table.
 * That is put off for a moment and done once for all exits in between, so the path from spawn to exit never pays for it.
 */
export class Ledger {
  readonly #guardian: Guardian;
  readonly #running = new Map<number, ProcessTree>();
  readonly #ended = new Map<number, ProcessTree>();
  #sweep: NodeJS.Timeout | undefined;

  constructor(guardian: Guardian) {
    this.#guardian = guardian;
  }

  started(pid: number, leader: LeaderRole = 'command', priority: Priority = 'normal'): ProcessTree {
    // The kernel gave the number away again, so nobody of the old session was left.
    this.#ended.delete(pid);
    this.#guardian.started(pid);
    const tree = new ProcessTree(pid, leader);
    this.#running.set(pid, tree);
    if (priority === 'low') standBack(pid);
    if (leader === 'supervisor') {
      // A room becomes a session of its own in between, sooner or later: it is told twice.
      for (const delay of priority === 'low' ? [LEARN_DELAY_MS, 10 * LEARN_DELAY_MS] : [LEARN_DELAY_MS]) {
        setTimeout(() => {
          const first = tree.learn();
          if (first !== undefined && priority === 'low' && runs(first)) standBack(first.pid);
        }, delay).unref();
      }
    }
    return tree;
  }

  leaderEnded(tree: ProcessTree): void {
    tree.leaderEnded();
    this.#guardian.leaderEnded(tree.leader);
    this.#running.delete(tree.leader);
    this.#ended.set(tree.leader, tree);
    this.#sweep ??= setTimeout(() => this.sweep(), SWEEP_DELAY_MS).unref();
  }

  /** Signals a tree, unless it is known to be gone. */
  signal(tree: ProcessTree, signal: NodeJS.Signals): boolean {
    return this.holds(tree) && tree.signal(signal);
  }

  /** Ends a tree and forgets it once nobody is left. */
  async kill(tree: ProcessTree): Promise<void> {
    if (!this.holds(tree)) return;
    await tree.kill();
    this.#retire(tree);
  }

  /** Ends everything. */
  async killAll(): Promise<void> {
    await Promise.all([...this.#running.values(), ...this.#ended.values()].map((tree) => this.kill(tree)));
  }

  /** Forgets the trees in which a look at the process table finds nobody. */
  sweep(): void {
    clearTimeout(this.#sweep);
    this.#sweep = undefined;
    if (this.#ended.size === 0) return;
    const table = readProcessTable();
    for (const tree of this.#ended.values()) {
      tree.members(table);
      this.#retire(tree);
    }
  }

  /** Whether somebody of a tree may be left. */
  holds(tree: ProcessTree): boolean {
    return this.#running.get(tree.leader) === tree || this.#ended.get(tree.leader) === tree;
  }

  #retire(tree: ProcessTree): void {
    if (!tree.empty || this.#ended.get(tree.leader) !== tree) return;
    this.#ended.delete(tree.leader);
    this.#guardian.forget(tree.leader);
  }
}
