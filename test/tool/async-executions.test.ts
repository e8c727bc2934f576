import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
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

it('keeps async executions and their results when the disk is full for a while', async () => {
  const store = new FullStore(join(scratchFolder(), 'executions.db'));
  const addresses = new AddressPolicy([]);
  const deliveries = new Deliveries({ store, addresses, retryMs: [], timeoutMs: 1_000 });
  let runs = 0;
  const executions = new AsyncExecutions({
    store,
    deliveries,
    addresses,
    limits: DEFAULT_TOOL_LIMITS,
    register: () => {},
    run: async (_request, execution) => {
      runs += 1;
      store.failures = 1;
      return { success: true, output: 1, executionTimeMs: 1, executionId: execution.id };
    },
  });
  onTestFinished(() => executions.dispose());
  executions.recover();
  store.failures = 1;
  const { executionId } = executions.submit(ExecuteAsyncRequest.parse({ packageName: 'a', name: 'b' }), undefined);
  await expect.poll(() => store.get(executionId)?.result).toContain('"output":1');
  expect(runs).toBe(1);
});

it('gives up on a write when the store is about to be closed', async () => {
  const write = (): void => {
    throw new Error('closed');
  };
  expect(await keepTrying(write, () => true)).toBe(false);
});
