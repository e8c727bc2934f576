import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AsyncExecutions } from '../../src/tool/async/async-executions.js';
import { keepTrying } from '../../src/tool/async/keep-trying.js';
import { AsyncStore } from '../../src/tool/async/store.js';
import { DEFAULT_TOOL_LIMITS } from '../../src/tool/limits.js';
import { ExecuteAsyncRequest } from '../../src/tool/messages.js';
import { AddressPolicy } from '../../src/tool/webhooks/address.js';
import { Deliveries } from '../../src/tool/webhooks/deliveries.js';
import { scratchFolder } from './helpers.js';

/** A store on a disk that is full for a while. */
class FullStore extends AsyncStore {
  failures = 0;

  override setRunning(id: string, at: number): void {
    this.#mayFail();
    super.setRunning(id, at);
  }

  override setFinished(...args: Parameters<AsyncStore['setFinished']>): void {
    this.#mayFail();
    super.setFinished(...args);
  }

  override prune(): void {
    throw new Error('database or disk is full');
  }

  #mayFail(): void {
    if (this.failures === 0) return;
    this.failures -= 1;
    throw new Error('database or disk is full');
  }
}

/** Async executions over a store, each of which returns 1 after `onRun`. */
function executionsOver(store: AsyncStore, onRun: () => void = () => {}): AsyncExecutions {
  const addresses = new AddressPolicy([]);
  const deliveries = new Deliveries({ store, addresses, retryMs: [], timeoutMs: 1_000 });
  const executions = new AsyncExecutions({
    store,
    deliveries,
    addresses,
    limits: DEFAULT_TOOL_LIMITS,
    register: () => {},
    run: async (_request, execution) => {
      onRun();
      return { success: true, output: 1, executionTimeMs: 1, executionId: execution.id };
    },
  });
  onTestFinished(() => executions.dispose());
  executions.recover();
  return executions;
}

const REQUEST = ExecuteAsyncRequest.parse({ packageName: 'a', name: 'b' });
const DAY_MS = 86_400_000;

/** Sets the clock of this process off by some time. */
function shiftClock(ms: number): void {
  const now = Date.now;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + ms);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
}

it('keeps async executions and their results when the disk is full for a while', async () => {
  const store = new FullStore(join(scratchFolder(), 'executions.db'));
  let runs = 0;
  const executions = executionsOver(store, () => {
    runs += 1;
    store.failures = 1;
  });
  store.failures = 1;
  const { executionId } = executions.submit(REQUEST, undefined);
  await expect.poll(() => store.get(executionId)?.result).toContain('"output":1');
  expect(runs).toBe(1);
});

it('gives up on a write when the store is about to be closed', async () => {
  const write = (): void => {
    throw new Error('closed');
  };
  expect(await keepTrying(write, () => true)).toBe(false);
});

describe('a clock that is wrong for a while', () => {
  it('does not make an answer too old to keep', async () => {
    const file = join(scratchFolder(), 'executions.db');
    const store = new AsyncStore(file);
    const executions = executionsOver(store);
    executions.submit(REQUEST, undefined);
    shiftClock(-365 * DAY_MS);
    const { executionId } = executions.submit(REQUEST, undefined);
    await expect.poll(() => store.get(executionId)?.result).toContain('"output":1');
    vi.restoreAllMocks();
    const next = executionsOver(new AsyncStore(file));
    expect(next.status(executionId)).toMatchObject({ result: { output: 1 } });
  });

  it('does not keep an answer from the future for longer than others', () => {
    const store = new AsyncStore(join(scratchFolder(), 'executions.db'));
    const now = Date.now();
    const row = { status: 'queued' as const, request: '{}', hadEnv: false, startedAt: undefined, result: undefined };
    store.add({ id: 'x', createdAt: now, finishedAt: undefined, ...row }, undefined, undefined);
    store.setFinished('x', 'succeeded', '1', now + 3_650 * DAY_MS);
    store.prune(now, DAY_MS);
    expect(store.get('x')?.finishedAt).toBe(now);
    store.prune(now + DAY_MS + 1, DAY_MS);
    expect(store.get('x')).toBeUndefined();
    store.close();
  });

  it('does not put off a webhook beyond its longest pause', () => {
    const store = new AsyncStore(join(scratchFolder(), 'executions.db'));
    const now = Date.now();
    for (const [id, nextAt] of [
      ['soon', now + 1_000],
      ['never', now + 3_650 * DAY_MS],
    ] as const) {
      const callback = { executionId: id, url: 'http://example.com/', secret: 's', status: 'waiting' as const };
      const row = { status: 'queued' as const, request: '{}', hadEnv: false, startedAt: undefined, result: undefined };
      store.add(
        { id, createdAt: now, finishedAt: undefined, ...row },
        { ...callback, attempts: 0, nextAt: 0, lastError: undefined },
        undefined,
      );
      store.setCallback(id, 'pending', 1, nextAt, undefined);
    }
    expect(store.dueCallbacks(now, now + 2_000, 8).map(({ executionId }) => executionId)).toEqual(['never']);
    store.close();
  });
});
