import { describe, expect, it } from 'vitest';
import type { Shell } from '../../../src/guest/host/shell.js';
import { ShellPool } from '../../../src/guest/host/shell-pool.js';
import { memoryPair } from '../../../src/wire/index.js';

interface FakeShell extends Shell {
  readonly kills: number;
  /** Ends it as if it had died by itself. */
  die(): void;
  become(state: 'ready' | Error): void;
}

function deferred() {
  let resolve = (): void => {};
  let reject = (_error: Error): void => {};
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

function fakeShell(): FakeShell {
  const ready = deferred();
  const gone = deferred();
  ready.promise.catch(() => {});
  let kills = 0;
  return {
    transport: memoryPair<unknown, never>()[0],
    ready: ready.promise,
    gone: gone.promise,
    occupy: () => {},
    vacate: () => {},
    interrupt: () => {},
    kill: () => {
      kills += 1;
      gone.resolve();
    },
    get kills() {
      return kills;
    },
    die: () => gone.resolve(),
    become: (state) => (state === 'ready' ? ready.resolve() : ready.reject(state)),
  };
}

/** A pool whose shells are ready at once unless `slow`. */
function makePool(size: number, { maxQueue = 100, slow = [] as number[], startTimeoutMs = 10_000 } = {}) {
  const opened: FakeShell[] = [];
  const pool = new ShellPool(
    async () => {
      const shell = fakeShell();
      opened.push(shell);
      if (!slow.includes(opened.length)) shell.become('ready');
      return shell;
    },
    size,
    maxQueue,
    startTimeoutMs,
  );
  return { pool, opened };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('a pool of shells', () => {
  it('starts a shell when one is needed, and no more than its size', async () => {
    const { pool, opened } = makePool(2);
    const first = await pool.take();
    await pool.take();
    const third = pool.take();
    await settle();
    expect(opened).toHaveLength(2);
    expect(pool.stats).toMatchObject({ shells: 2, busy: 2, queued: 1 });
    pool.giveBack(first);
    expect(await third).toBe(first);
  });

  it('serves who waits longest first', async () => {
    const { pool } = makePool(1);
    const shell = await pool.take();
    const order: number[] = [];
    const waits = [1, 2, 3].map((n) =>
      pool.take().then((given) => {
        order.push(n);
        pool.giveBack(given);
      }),
    );
    pool.giveBack(shell);
    await Promise.all(waits);
    expect(order).toEqual([1, 2, 3]);
  });

  it('lets go of a call that waits as soon as its signal fires, and keeps its place for the others', async () => {
    const { pool } = makePool(1);
    const shell = await pool.take();
    const abort = new AbortController();
    const aborted = pool.take(abort.signal);
    const other = pool.take();
    abort.abort();
    await expect(aborted).rejects.toThrow('aborted');
    pool.giveBack(shell);
    expect(await other).toBe(shell);
    await expect(pool.take(AbortSignal.abort())).rejects.toThrow('aborted');
  });

  it('refuses more waiting calls than it may have', async () => {
    const { pool } = makePool(1, { maxQueue: 1 });
    const shell = await pool.take();
    const waiting = pool.take();
    await expect(pool.take()).rejects.toThrow('1 executions are waiting already');
    pool.giveBack(shell);
    expect(await waiting).toBe(shell);
  });

  it('replaces a shell that was discarded', async () => {
    const { pool, opened } = makePool(1);
    pool.discard(await pool.take());
    const next = await pool.take();
    expect(opened).toHaveLength(2);
    expect(next).toBe(opened[1]);
    expect(opened[0]?.kills).toBe(1);
    expect(pool.stats.replaced).toBe(1);
  });

  it('starts another for who waits when a busy shell dies by itself', async () => {
    const { pool, opened } = makePool(1);
    const shell = await pool.take();
    const waiting = pool.take();
    opened[0]?.die();
    await settle();
    pool.discard(shell);
    expect(await waiting).toBe(opened[1]);
    expect(pool.stats).toMatchObject({ shells: 1, replaced: 1 });
  });

  it('forgets an idle shell that died, and does not hand it out', async () => {
    const { pool, opened } = makePool(1);
    pool.giveBack(await pool.take());
    opened[0]?.die();
    await settle();
    expect(pool.stats).toMatchObject({ shells: 0, idle: 0 });
    expect(await pool.take()).toBe(opened[1]);
  });

  it('ignores a shell that comes back after it died', async () => {
    const { pool, opened } = makePool(1);
    const shell = await pool.take();
    opened[0]?.die();
    await settle();
    pool.giveBack(shell);
    expect(pool.stats.idle).toBe(0);
  });

  it('starts a second shell while the first is still starting', async () => {
    const { pool, opened } = makePool(2, { slow: [1] });
    const first = pool.take();
    await settle();
    const second = pool.take();
    expect(await first).toBe(opened[1]);
    opened[0]?.become('ready');
    expect(await second).toBe(opened[0]);
  });

  it('tells who waits why a shell could not start, kills it, and tries again for the next', async () => {
    const { pool, opened } = makePool(1, { slow: [1] });
    const waiting = pool.take();
    const next = pool.take();
    await settle();
    opened[0]?.become(new Error('no engine'));
    await expect(waiting).rejects.toThrow('no engine');
    expect(opened[0]?.kills).toBe(1);
    expect(await next).toBe(opened[1]);
  });

  it('survives an opener that throws', async () => {
    const pool = new ShellPool(() => Promise.reject(new Error('cannot spawn')), 1, 10);
    await expect(pool.take()).rejects.toThrow('cannot spawn');
    await expect(pool.prewarm()).rejects.toThrow('cannot spawn');
    await pool.close();
  });

  it('prewarms all its shells once', async () => {
    const { pool, opened } = makePool(3);
    await Promise.all([pool.prewarm(), pool.prewarm()]);
    expect(opened).toHaveLength(3);
    expect(pool.stats).toMatchObject({ shells: 3, idle: 3 });
  });

  it('closes: refuses what waits and what comes, kills what is idle, and waits for all to be gone', async () => {
    const { pool, opened } = makePool(2);
    await pool.prewarm();
    await pool.take();
    const busy = await pool.take();
    const waiting = pool.take();
    const closed = pool.close();
    await expect(waiting).rejects.toThrow('disposed');
    await expect(pool.take()).rejects.toThrow('disposed');
    pool.giveBack(busy);
    for (const shell of opened) shell.die();
    await closed;
    expect(pool.stats.shells).toBe(0);
  });

  it('waits for a shell that is still starting when it closes, and kills it', async () => {
    const { pool, opened } = makePool(1, { slow: [1] });
    pool.take().catch(() => {});
    await settle();
    let closed = false;
    const closing = pool.close().then(() => {
      closed = true;
    });
    await settle();
    expect(closed).toBe(false);
    opened[0]?.become('ready');
    await closing;
    expect(opened[0]?.kills).toBe(1);
  });
});

describe('a pool that is warmed up', () => {
  it('serves who waits for a start that fails', async () => {
    const { pool, opened } = makePool(1, { slow: [1] });
    const warm = pool.prewarm();
    const taken = pool.take();
    await expect.poll(() => opened.length).toBe(1);
    opened[0]?.become(new Error('no start'));
    await expect(warm).rejects.toThrow('no start');
    expect(await taken).toBe(opened[1]);
  });

  it('tells who waits when the next start fails as well', async () => {
    const { pool, opened } = makePool(1, { slow: [1, 2] });
    pool.prewarm().catch(() => {});
    const taken = pool.take();
    taken.catch(() => {});
    for (const attempt of [0, 1]) {
      await expect.poll(() => opened.length).toBe(attempt + 1);
      opened[attempt]?.become(new Error(`no start ${attempt}`));
    }
    await expect(taken).rejects.toThrow('no start 1');
  });
});

it('gives up on a shell that is never ready, and ends it', async () => {
  const { pool, opened } = makePool(1, { slow: [1], startTimeoutMs: 20 });
  await expect(pool.take()).rejects.toThrow('a shell was not ready within 20 ms');
  expect(opened[0]?.kills).toBe(1);
});
