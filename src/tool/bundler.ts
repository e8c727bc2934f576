import type { Installer } from './install/installer.js';
import type { Tree, TreeCache } from './install/tree-cache.js';
import type { ToolRuns } from './tool-runs.js';

/** How long the two looks at a package may take each. */
const INSPECT_TIMEOUT_MS = 20_000;

/**
 * Makes trees faster to load, behind everybody's back: bundles a tree, loads bundle and plain tree in two children, and
 * uses the bundle from then on if both export the same. Whatever goes wrong, the plain tree stays.
 */
export class Bundler {
  readonly #installer: Installer;
  readonly #cache: TreeCache;
  readonly #runs: ToolRuns;
  readonly #stop = new AbortController();
  readonly #queued = new Set<string>();
  #line: Promise<void> = Promise.resolve();
  made = 0;

  constructor(installer: Installer, cache: TreeCache, runs: ToolRuns) {
    this.#installer = installer;
    this.#cache = cache;
    this.#runs = runs;
  }

  /** Queues a tree. One at a time: nobody waits for it. */
  add(tree: Tree): void {
    if (this.#queued.has(tree.key)) return;
    this.#queued.add(tree.key);
    this.#line = this.#line
      .then(() => this.#bundle(tree))
      .catch(() => {})
      .finally(() => this.#queued.delete(tree.key));
  }

  /** Resolves when all that was queued is done. */
  idle(): Promise<void> {
    return this.#line;
  }

  /** Goes back to the plain tree. */
  giveUp(tree: Tree): Promise<void> {
    return this.#cache.useEntry(tree, 'load.mjs');
  }

  async dispose(): Promise<void> {
    this.#stop.abort(new Error('the executor is shut down'));
    await this.#line;
  }

  async #bundle(tree: Tree): Promise<void> {
    const { signal } = this.#stop;
    if (signal.aborted) return;
    using lease = await this.#cache.lease(tree.name, tree.version);
    if (lease === undefined) return;
    const { made } = await this.#installer.bundle({ folder: tree.folder }).catch(() => ({ made: false }));
    const same = made && !signal.aborted && (await this.#sameShape(tree));
    if (signal.aborted) return;
    await this.#cache.useEntry(tree, same ? 'bundle.mjs' : 'load.mjs');
    if (same) this.made += 1;
  }

  async #sameShape(tree: Tree): Promise<boolean> {
    const plain = await this.#shape(tree, 'load.mjs');
    return plain !== undefined && !this.#stop.signal.aborted && (await this.#shape(tree, 'bundle.mjs')) === plain;
  }

  async #shape(tree: Tree, entry: Tree['entry']): Promise<string | undefined> {
    const job = { mode: 'inspect', name: '', params: undefined, env: {}, toolCallId: '' } as const;
    const { result } = await this.#runs.run(tree, entry, job, {
      timeoutMs: INSPECT_TIMEOUT_MS,
      signal: this.#stop.signal,
    });
    return result.kind === 'inspected' ? result.shape : undefined;
  }
}
