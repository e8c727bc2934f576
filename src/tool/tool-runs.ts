import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Bundler } from './bundler.js';
import type { Tree } from './install/tree-cache.js';
import type { ToolLimits } from './limits.js';
import type { ChildPool } from './run/child-pool.js';
import { type RunOptions, type RunReport, runJob } from './run/run-job.js';

export interface ToolRun {
  readonly mode: 'execute' | 'describe' | 'inspect';
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>> | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly toolCallId: string;
}

/** Runs jobs on trees, each in a child of its own. */
export class ToolRuns {
  readonly #pool: ChildPool;
  readonly #limits: ToolLimits;

  constructor(pool: ChildPool, limits: ToolLimits) {
    this.#pool = pool;
    this.#limits = limits;
  }

  /** Runs a job with one particular way to load the package. */
  async run(
    tree: Tree,
    entry: Tree['entry'],
    job: ToolRun,
    options: Pick<RunOptions, 'timeoutMs' | 'signal'> & Partial<RunOptions>,
  ): Promise<RunReport> {
    const child = await this.#pool.take();
    const { maxOutputBytes, maxOutputDepth, abortLeadMs, maxLogBytes } = this.#limits;
    const report = runJob(
      child,
      {
        ...job,
        entry: pathToFileURL(join(tree.folder, entry)).href,
        packageFolder: join(tree.folder, 'node_modules', tree.name),
        maxOutputBytes,
        maxOutputDepth,
      },
      { abortLeadMs, maxLogBytes, ...options },
    );
    // The next one starts while this one works.
    this.#pool.fill();
    return await report;
  }

  /**
   * Runs a job the fastest way that works. A bundle that cannot be imported is given up, and the plain tree is tried:
   * nothing of the tool was called yet.
   */
  async runBest(
    tree: Tree,
    bundler: Bundler,
    job: ToolRun,
    options: Pick<RunOptions, 'timeoutMs' | 'signal'> & Partial<RunOptions>,
  ): Promise<RunReport> {
    const { entry } = tree;
    const report = await this.run(tree, entry, job, options);
    const failedImport =
      report.result.kind === 'failed' &&
      report.phase === 'import' &&
      report.result.failure.code === 'TOOL_EXECUTION_ERROR';
    if (entry === 'load.mjs' || !failedImport || options.signal?.aborted) return report;
    const plain = await this.run(tree, 'load.mjs', job, options);
    if (plain.phase !== 'import') await bundler.giveUp(tree);
    return plain;
  }
}
