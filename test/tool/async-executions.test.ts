import { join } from 'node:path';
import Database from 'libsql';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AsyncExecutions } from '../../src/tool/async/async-executions.js';
import { keepTrying } from '../../src/tool/async/keep-trying.js';
import { AsyncStore } from '../../src/tool/async/store.js';
import { StoreLock } from '../../src/tool/async/store-lock.js';
import type { Execution } from '../../src/tool/execution.js';
import { keyUse } from '../../src/tool/idempotency.js';
import { DEFAULT_TOOL_LIMITS, type ToolLimits } from '../../src/tool/limits.js';
import { ExecuteAsyncRequest, type ExecuteToolResponse } from '../../src/tool/messages.js';
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

interface Over {
  readonly run?: (execution: Execution) => Promise<unknown> | unknown;
  readonly register?: (execution: Execution) => void;
  readonly limits?: Partial<ToolLimits>;
  readonly lock?: StoreLock;
}

/** Async executions over a store, each of which returns what `run` does, or 1. */
function executionsOver(store: AsyncStore, { run, register, limits, lock }: Over = {}): AsyncExecutions {
  const addresses = new AddressPolicy([]);
  const deliveries = new Deliveries({ store, addresses, retryMs: [], timeoutMs: 1_000 });
  const executions = new AsyncExecutions({
    store,
    lock: lock ?? new StoreLock(join(scratchFolder(), 'executions.lock')),
    deliveries,
    addresses,
    limits: { ...DEFAULT_TOOL_LIMITS, ...limits },
    register: register ?? (() => {}),
    run: async (_request, execution): Promise<ExecuteToolResponse> => {
      const output = (await run?.(execution)) ?? 1;
      const response = { success: true as const, output, executionTimeMs: 1, executionId: execution.id };
      execution.finish(response);
      return response;
    },
  });
  onTestFinished(() => executions.dispose());
  executions.start();
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
  const executions = executionsOver(store, {
    run: () => {
      runs += 1;
      store.failures = 1;
    },
  });
  store.failures = 1;
  const { executionId } = executions.submit(REQUEST);
  await expect.poll(() => store.get(executionId)?.result).toContain('"output":1');
  expect(runs).toBe(1);
});

it('gives up on a write when the store is about to be closed', async () => {
  const write = (): void => {
    throw new Error('closed');
  };
  expect(await keepTrying(write, () => true)).toBe(false);
});

/** What a row has that waits for its turn. */
const QUEUED = {
  status: 'queued',
  request: '{}',
  owner: undefined,
  hadEnv: false,
  startedAt: undefined,
  result: undefined,
} as const;

describe('a clock that is wrong for a while', () => {
  it('does not make an answer too old to keep', async () => {
    const file = join(scratchFolder(), 'executions.db');
    const store = new AsyncStore(file);
    const executions = executionsOver(store);
    executions.submit(REQUEST);
    shiftClock(-365 * DAY_MS);
    const { executionId } = executions.submit(REQUEST);
    await expect.poll(() => store.get(executionId)?.result).toContain('"output":1');
    vi.restoreAllMocks();
    const next = executionsOver(new AsyncStore(file));
    expect(next.status(executionId)).toMatchObject({ result: { output: 1 } });
  });

  it('does not keep an answer from the future for longer than others', () => {
    const store = new AsyncStore(join(scratchFolder(), 'executions.db'));
    const now = Date.now();
    store.add({ id: 'x', createdAt: now, finishedAt: undefined, ...QUEUED }, undefined, undefined);
    store.setFinished('x', 'succeeded', '1', now + 3_650 * DAY_MS);
    store.prune(now, DAY_MS, 1_000_000);
    expect(store.get('x')?.finishedAt).toBe(now);
    store.prune(now + DAY_MS + 1, DAY_MS, 1_000_000);
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
      store.add(
        { id, createdAt: now, finishedAt: undefined, ...QUEUED },
        { ...callback, attempts: 0, nextAt: 0, lastError: undefined },
        undefined,
      );
      store.setCallback(id, 'pending', 1, nextAt, undefined);
    }
    expect(store.dueCallbacks(now, now + 2_000, 8).map(({ executionId }) => executionId)).toEqual(['never']);
    store.close();
  });
});

/** A store, and executions over it of which the first never ends. */
function busyExecutions(limits: Partial<ToolLimits> = {}) {
  const store = new AsyncStore(join(scratchFolder(), 'executions.db'));
  const registered = new Map<string, Execution>();
  const executions = executionsOver(store, {
    run: () => new Promise(() => {}),
    register: (execution) => registered.set(execution.id, execution),
    limits: { maxExecutions: 1, ...limits },
  });
  const { executionId: running } = executions.submit(REQUEST);
  const submit = (): Execution => {
    const execution = registered.get(executions.submit(REQUEST).executionId);
    if (execution === undefined) throw new Error('the execution was not registered');
    return execution;
  };
  return { store, executions, running, submit };
}

describe('an execution that waits', () => {
  it('is over as soon as it is cancelled', async () => {
    const { store, executions, submit } = busyExecutions();
    const first = submit();
    const second = submit();
    first.cancel('not wanted any more');
    expect(await first.done).toMatchObject({ success: false, errorCode: 'EXECUTION_CANCELLED' });
    expect(store.get(first.id)).toMatchObject({ status: 'cancelled', request: '' });
    expect(executions.status(second.id)).toMatchObject({ status: 'queued' });
  });

  it('stays queued when the server starts nothing any more, and when it ends', async () => {
    const file = join(scratchFolder(), 'executions.db');
    const putOff: string[] = [];
    const ends: (() => void)[] = [];
    const executions = executionsOver(new AsyncStore(file), {
      run: () => new Promise(() => {}),
      register: (execution) => {
        execution.onPutOff = () => putOff.push(execution.id);
        ends.push(() => execution.cancel('the executor is being shut down'));
      },
      limits: { maxExecutions: 1 },
    });
    executions.submit(REQUEST);
    const { executionId: before } = executions.submit(REQUEST);
    executions.hold();
    const { executionId: after } = executions.submit(REQUEST);
    expect(putOff).toEqual([before, after]);
    const ended = executions.dispose();
    for (const end of ends) end();
    await ended;
    const next = new AsyncStore(file);
    expect(next.withStatus('queued').map(({ id }) => id)).toEqual([before, after]);
    next.close();
  });

  it('is refused when those before it take all the memory there is for them', () => {
    const { submit } = busyExecutions({ maxAsyncQueuedBytes: 100 });
    submit();
    expect(submit).toThrow(/bytes of requests wait already/);
  });
});

describe('answers that are kept', () => {
  const BIG = 'x'.repeat(10_000);

  it('go the oldest first when there are too many bytes of them', async () => {
    const store = new AsyncStore(join(scratchFolder(), 'executions.db'));
    const executions = executionsOver(store, { run: () => BIG, limits: { maxKeptResultBytes: 55_000 } });
    const ids: string[] = [];
    for (let index = 0; index < 12; index += 1) {
      const { executionId } = executions.submit(REQUEST);
      ids.push(executionId);
      await expect.poll(() => executions.status(executionId)?.result).toBeDefined();
    }
    expect(store.bytes).toBeLessThanOrEqual(55_000);
    expect(store.get(ids[0] ?? '')).toBeUndefined();
    expect(store.get(ids.at(-1) ?? '')?.result).toContain(BIG);
  });

  it('are not thrown away while somebody waits for them: then nothing new is taken on', async () => {
    const store = new AsyncStore(join(scratchFolder(), 'executions.db'));
    const executions = executionsOver(store, { run: () => BIG, limits: { maxKeptResultBytes: 5_000 } });
    const callback = { url: 'http://192.0.2.1/', secret: 'a secret' };
    store.add(
      {
        id: 'owed',
        status: 'queued',
        request: '{}',
        owner: undefined,
        hadEnv: false,
        createdAt: Date.now(),
        startedAt: undefined,
        finishedAt: undefined,
        result: undefined,
      },
      { executionId: 'owed', ...callback, status: 'waiting', attempts: 0, nextAt: 0, lastError: undefined },
      undefined,
    );
    store.setFinished('owed', 'succeeded', JSON.stringify(BIG), Date.now());
    store.prune(Date.now(), DAY_MS, 5_000);
    expect(store.get('owed')).toBeDefined();
    expect(() => executions.submit(REQUEST)).toThrow(/wait for their webhooks/);
  });
});

it('takes up what another server left only when that one has ended', async () => {
  const folder = scratchFolder();
  const file = join(folder, 'executions.db');
  const lockFile = join(folder, 'executions.lock');
  const first = executionsOver(new AsyncStore(file), {
    run: () => new Promise(() => {}),
    lock: new StoreLock(lockFile),
  });
  const { executionId } = first.submit(REQUEST);
  const second = executionsOver(new AsyncStore(file), { lock: new StoreLock(lockFile) });
  expect(second.status(executionId)).toMatchObject({ status: 'running' });
  expect(() => second.submit(REQUEST)).toThrow(/another server has the async executions/);
  await first.dispose();
  await expect.poll(() => second.status(executionId)?.status).toBe('failed');
  expect(second.submit(REQUEST)).toMatchObject({ success: true });
});

it('keeps the keys of two callers apart', async () => {
  const executions = executionsOver(new AsyncStore(join(scratchFolder(), 'executions.db')));
  const submit = (principal: string, body: unknown): string =>
    executions.submit(REQUEST, keyUse({ idempotencyKey: 'k', principal }, body), principal).executionId;
  const first = submit('a', 1);
  expect(submit('a', 1)).toBe(first);
  expect(submit('b', 1)).not.toBe(first);
  expect(() => submit('b', 2)).toThrow(/another body/);
  expect(executions.ownerOf(first)).toBe('a');
});

it('opens a store that was made before executions had owners', () => {
  const file = join(scratchFolder(), 'executions.db');
  const old = new Database(file);
  old.exec(
    `CREATE TABLE executions (id TEXT PRIMARY KEY, status TEXT NOT NULL, request TEXT NOT NULL, had_env INTEGER NOT NULL, created_at INTEGER NOT NULL,
      started_at INTEGER, finished_at INTEGER, result TEXT, idempotency_key TEXT UNIQUE, body_hash TEXT)`,
  );
  old.exec("INSERT INTO executions (id, status, request, had_env, created_at) VALUES ('x', 'queued', '{}', 0, 1)");
  old.close();
  const store = new AsyncStore(file);
  expect(store.get('x')).toMatchObject({ status: 'queued', owner: undefined });
  store.close();
});

it('survives a store that cannot be read while webhooks are due', async () => {
  class BrokenStore extends AsyncStore {
    broken = 0;
    asked = 0;

    override dueCallbacks(...args: Parameters<AsyncStore['dueCallbacks']>): ReturnType<AsyncStore['dueCallbacks']> {
      this.asked += 1;
      if (this.broken-- > 0) throw new Error('disk I/O error');
      return super.dueCallbacks(...args);
    }

    override get(): never {
      throw new Error('disk I/O error');
    }
  }
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const store = new BrokenStore(join(scratchFolder(), 'executions.db'));
  const row = { status: 'queued' as const, request: '{}', owner: undefined, hadEnv: false };
  store.add(
    { id: 'x', ...row, createdAt: 1, startedAt: undefined, finishedAt: undefined, result: undefined },
    {
      executionId: 'x',
      url: 'http://192.0.2.1/',
      secret: 's',
      status: 'waiting',
      attempts: 0,
      nextAt: 0,
      lastError: undefined,
    },
    undefined,
  );
  store.setFinished('x', 'succeeded', '1', 1);
  const deliveries = new Deliveries({ store, addresses: new AddressPolicy([]), retryMs: [1], timeoutMs: 1_000 });
  store.broken = 1;
  // Neither the call, nor the timer, nor the end of a delivery may throw: nobody would catch it.
  deliveries.wake();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(store.asked).toBeGreaterThan(2);
  expect(store.asked).toBeLessThan(10);
  await deliveries.dispose();
  store.close();
});
