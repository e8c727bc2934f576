import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createExecutor, type ExecuteOptions, type ExecutionEvent, type Executor } from '../../../dist/guest/index.js';
import { defineTools } from '../../../src/capabilities/index.js';
import { here } from '../../sandbox/container/rooms.js';
import { ERRORS, KILLED, MEMORY_HOGS, TIMEOUTS, TOOLS, VALUES } from '../programs.js';

/** A timeout comes within the limit and the grace; the rest is for a loaded machine. */
const SLACK_MS = 30_000;
const short = (text: string): string => (text.length > 90 ? `${text.slice(0, 90)}…` : text).replaceAll('\0', '\\0');

const CONFINED = here.available ? (['container'] as const) : [];

for (const isolation of ['inline', 'thread', 'process', ...CONFINED] as const) {
  describe(`an executor with isolation ${isolation}`, () => {
    let executor: Executor;
    beforeAll(async () => {
      executor = createExecutor({ isolation, size: 2, limits: { timeoutMs: 15_000 } });
      await executor.prewarm();
    });
    afterAll(() => executor.dispose());

    const run = (code: string, options?: ExecuteOptions) => executor.execute(code, [TOOLS], options);
    const works = async () => expect(await run('1 + 1')).toMatchObject({ ok: true, result: 2 });

    describe('gives code its value', () => {
      for (const [code, value] of VALUES) {
        it(short(code), async () => {
          const result = await run(code);
          expect(result).toMatchObject({ ok: true, logs: [] });
          expect(result.ok && result.result).toEqual(value);
        });
      }
    });

    describe('fails with the right code', () => {
      for (const [code, errorCode, message] of ERRORS) {
        it(`${errorCode}: ${short(code)}`, async () => {
          const result = await run(code);
          expect(result).toMatchObject({ ok: false, error: { code: errorCode } });
          expect(!result.ok && result.error.message).toMatch(message);
        });
      }
    });

    describe('ends in time', () => {
      for (const [what, code] of isolation === 'inline' ? TIMEOUTS : [...TIMEOUTS, ...KILLED]) {
        it(what, async () => {
          const from = performance.now();
          const result = await run(`console.log('kept'); ${code}`, { timeoutMs: 120 });
          expect(result).toMatchObject({
            ok: false,
            error: { code: 'timeout', message: 'Execution timed out' },
            logs: ['kept'],
          });
          expect(performance.now() - from).toBeLessThan(120 + SLACK_MS);
          await works();
        });
      }
    });

    describe('runs out of memory as memory_limit', () => {
      for (const [what, code] of MEMORY_HOGS) {
        it(what, async () => {
          const result = await run(code, { memoryLimitBytes: 6e6 });
          expect(result).toMatchObject({
            ok: false,
            error: { code: 'memory_limit', message: 'Out of memory: the limit is 6000000 bytes' },
          });
          await works();
        });
      }

      it('and lets a guest that catches it go on', async () => {
        const code = 'let caught = false; try { "x".repeat(2 ** 29) } catch { caught = true } caught';
        expect(await run(code, { memoryLimitBytes: 6e6 })).toMatchObject({ ok: true, result: true });
      });

      it('at the smallest limit too, where small programs still run', async () => {
        expect(await run('[1, 2].map((x) => x + 1)', { memoryLimitBytes: 65_536 })).toMatchObject({
          ok: true,
          result: [2, 3],
        });
        expect(await run('const a = []; for (;;) a.push({})', { memoryLimitBytes: 65_536 })).toMatchObject({
          error: { code: 'memory_limit' },
        });
        expect(await run('await tools.echo("x".repeat(60_000))', { memoryLimitBytes: 65_536 })).toMatchObject({
          ok: false,
        });
        await works();
      });

      it('for a tool result that does not fit', async () => {
        const big = defineTools('big', { text: () => 'x'.repeat(5e6), list: () => Array(200_000).fill('abcdefgh') });
        for (const code of ['await big.text()', 'await big.list()']) {
          const result = await executor.execute(code, big, { memoryLimitBytes: 1e6 });
          expect(result).toMatchObject({ ok: false, error: { code: 'memory_limit' } });
        }
        await works();
      });
    });

    describe('cancels', () => {
      const aborted = async (code: string, after: ExecutionEvent['type']) => {
        const abort = new AbortController();
        const onEvent = (event: ExecutionEvent) => {
          if (event.type === after) abort.abort();
        };
        return run(code, { signal: abort.signal, onEvent });
      };

      it('a guest that waits for a tool, whatever it does then', async () => {
        const code = 'try { await tools.never() } catch {} return "went on"';
        expect(await aborted(code, 'tool_call')).toMatchObject({ ok: false, error: { code: 'timeout' } });
        await works();
      });

      if (isolation !== 'inline') {
        it('a guest in a busy loop', async () => {
          const from = performance.now();
          expect(await aborted('console.log("kept"); for (;;) {}', 'started')).toMatchObject({
            error: { code: 'timeout' },
          });
          expect(await aborted('console.log("kept"); for (;;) {}', 'log')).toMatchObject({
            error: { code: 'timeout' },
            logs: ['kept'],
          });
          expect(performance.now() - from).toBeLessThan(SLACK_MS);
          await works();
        });

        it('a call that waits for a free guest, at once', async () => {
          const busy = [1, 2].map(() => run('await tools.never()', { timeoutMs: 1_000 }));
          const abort = new AbortController();
          const waiting = run('1', { signal: abort.signal });
          abort.abort();
          expect(await waiting).toMatchObject({ ok: false, error: { code: 'timeout' } });
          await Promise.all(busy);
        });
      }

      it('before it began', async () => {
        expect(await run('1', { signal: AbortSignal.abort() })).toMatchObject({
          ok: false,
          error: { code: 'timeout' },
        });
      });

      it('and fires the signal of the tools that run', async () => {
        const abort = new AbortController();
        const fired = new Promise<string>((resolve) => {
          const slow = defineTools('slow', {
            wait: (_input, { signal, toolName, callId, namespace }) => {
              signal.addEventListener('abort', () => resolve(`${namespace}.${toolName} ${typeof callId}`));
              abort.abort();
              return new Promise(() => {});
            },
          });
          void executor.execute('await slow.wait()', slow, { signal: abort.signal });
        });
        expect(await fired).toBe('slow.wait string');
      });
    });

    describe('bounds logs', () => {
      it('while they come', async () => {
        const code = 'for (let i = 0; i < 20_000; i += 1) console.log("line", i); 1';
        const result = await run(code, { maxLogLines: 3 });
        expect(result).toMatchObject({ ok: true, logs: ['line 0', 'line 1', 'line 2'] });
      });

      it('by characters, without splitting a pair', async () => {
        const result = await run('console.log("ab"); console.log("c😀d"); console.log("e")', { maxLogChars: 4 });
        expect(result.logs).toEqual(['ab', 'c']);
      });

      it('of one line that is huge', async () => {
        const result = await run('console.log("x".repeat(2e7), { a: "y".repeat(1e6) }); 1', { maxLogChars: 10 });
        expect(result).toMatchObject({ ok: true, logs: ['xxxxxxxxxx'] });
      });

      it('of every level, in one line each', async () => {
        const code =
          'console.log("a", 1); console.info({ b: [2] }); console.warn(undefined, null); console.error(new Error("e"))';
        expect((await run(code)).logs).toEqual(['a 1', '{"b":[2]}', 'undefined null', 'Error: e']);
      });

      it('also when none are wanted', async () => {
        expect(await run('console.log(1); 2', { maxLogLines: 0 })).toMatchObject({ ok: true, result: 2, logs: [] });
      });
    });

    it('keeps one guest from disturbing another', async () => {
      const hostile = [
        'Object.prototype.x = 1; Array.prototype.map = null; globalThis.y = 1; delete globalThis.JSON; 1',
        'setInterval(() => { globalThis.z = 1 }, 1); 1',
        'Promise.reject(new Error("unhandled")); (async () => { throw 1 })(); 1',
        'for (;;) {}',
        'const a = []; for (;;) a.push({})',
        'tools.never(); 1',
        'Error.prepareStackTrace = () => "mine"; Error.stackTraceLimit = 0; Symbol.for("s").description; 1',
      ];
      const probe =
        'await tools.slow(); [typeof y, typeof z, "x" in {}, [1].map((n) => n + 1)[0], JSON.stringify({}), typeof Error.prepareStackTrace, await tools.echo(5)]';
      const attacks = hostile.map((code) => run(code, { timeoutMs: 100, memoryLimitBytes: 8e6 }));
      const probes = Array.from({ length: 6 }, () => run(probe));
      await Promise.all(attacks);
      for (const result of await Promise.all(probes)) {
        expect(result).toMatchObject({ ok: true, result: ['undefined', 'undefined', false, 2, '{}', 'undefined', 5] });
      }
    });

    it('reports what happens as it happens', async () => {
      const events: ExecutionEvent[] = [];
      const code = 'console.log("a"); await tools.slow(); try { await tools.fail() } catch {} 5';
      const result = await run(code, { onEvent: (event) => events.push(event) });
      expect(events).toMatchObject([
        { type: 'started', executionId: expect.any(String) },
        { type: 'log', line: 'a' },
        { type: 'tool_call', providerName: 'tools', safeToolName: 'slow' },
        { type: 'tool_result', safeToolName: 'slow', ok: true, durationMs: expect.any(Number) },
        { type: 'tool_call', safeToolName: 'fail' },
        { type: 'tool_result', ok: false, error: { code: 'tool_error', message: 'boom' } },
        { type: 'done', result },
      ]);
      expect(new Set(events.map((event) => event.executionId)).size).toBe(1);
    });

    it('carries the largest value both ways', async () => {
      expect(await run('const s = "\\u0001".repeat(1e6); (await tools.echo(s)) === s')).toMatchObject({
        ok: true,
        result: true,
      });
      const nested = 'let o = 1; for (let i = 0; i < 64; i += 1) o = [o]; await tools.echo(o)';
      expect(await run(nested)).toMatchObject({ ok: true });
    });

    it('lets go of tool results that the guest is done with', async () => {
      const big = defineTools('big', { text: () => 'z'.repeat(50_000) });
      const code = 'let n = 0; for (let i = 0; i < 300; i += 1) n += (await big.text()).length; n';
      expect(await executor.execute(code, big, { memoryLimitBytes: 4e6 })).toMatchObject({
        ok: true,
        result: 15_000_000,
      });
    });

    it('refuses what it cannot run, with a result', async () => {
      const bad: readonly [unknown, unknown, unknown, RegExp][] = [
        [undefined, [], {}, /code must be a string/],
        [5, [], {}, /code must be a string/],
        ['x'.repeat(1_048_577), [], {}, /1048577 bytes/],
        ['é'.repeat(600_000), [], {}, /1200000 bytes/],
        ['1', null, {}, /defineTools/],
        ['1', [{}], {}, /defineTools/],
        ['1', [{ name: 'a', tools: {} }], {}, /defineTools/],
        ['1', [TOOLS, TOOLS], {}, /Two providers/],
        ['1', [{ name: '__proto__', tools: new Map() }], {}, /__proto__/],
        ['1', [], { timeoutMs: -1 }, /^timeoutMs must be/],
        ['1', [], { timeoutMs: Number.NaN }, /timeoutMs/],
        ['1', [], { timeoutMs: 1e308 }, /timeoutMs/],
        ['1', [], { timeoutMs: 0 }, /timeoutMs/],
        ['1', [], { timeoutMs: '5' }, /timeoutMs/],
        ['1', [], { memoryLimitBytes: 0 }, /memoryLimitBytes/],
        ['1', [], { memoryLimitBytes: 1e18 }, /memoryLimitBytes/],
        ['1', [], { maxLogLines: -1 }, /maxLogLines/],
        ['1', [], { maxLogChars: Number.POSITIVE_INFINITY }, /maxLogChars/],
        ['1', [], { signal: {} }, /AbortSignal/],
        ['1', [], { onEvent: 5 }, /onEvent/],
        ['1', [], 5, /options/],
        [
          '1',
          [],
          {
            get timeoutMs() {
              throw new Error('hostile');
            },
          },
          /hostile/,
        ],
      ];
      for (const [code, providers, options, reason] of bad) {
        const result = await Reflect.apply(executor.execute, executor, [code, providers, options]);
        expect(result).toMatchObject({
          ok: false,
          error: { code: 'validation_error', message: expect.stringMatching(reason) },
          logs: [],
        });
      }
      expect(await Reflect.apply(executor.execute, executor, ['1', undefined, null])).toMatchObject({ ok: true });
      expect(await Reflect.apply(executor.execute, executor, ['1', [], { timeoutMs: undefined }])).toMatchObject({
        ok: true,
      });
      await works();
    });

    it('counts what it does', async () => {
      const before = executor.stats();
      await run('1');
      await run('throw 1');
      const after = executor.stats();
      expect(after.executions - before.executions).toBe(2);
      expect(after.failures - before.failures).toBe(1);
      expect(after).toMatchObject({ busy: 0, queued: 0 });
    });

    it('drains on dispose: what runs ends, what comes is refused', async () => {
      const own = createExecutor({ isolation, size: 1 });
      const running = own.execute('await tools.slow(); 1', TOOLS);
      const queued = own.execute('2', TOOLS);
      const disposed = own.dispose();
      const late = await own.execute('3');
      await disposed;
      expect(await running).toMatchObject({ ok: true, result: 1 });
      expect(await queued).toMatchObject({ ok: true, result: 2 });
      expect(late).toMatchObject({ ok: false, error: { code: 'internal_error', message: 'the executor is disposed' } });
      expect(own.stats().shells).toBe(0);
      await own.dispose();
    });

    it('aborts on dispose when asked to', async () => {
      const own = createExecutor({ isolation, size: 1, limits: { timeoutMs: 60_000 } });
      await own.prewarm();
      const running = own.execute('await tools.never()', TOOLS);
      const queued = own.execute('2');
      await own.dispose({ mode: 'abort' });
      expect(await running).toMatchObject({ ok: false, error: { code: 'timeout' } });
      expect(await queued).toMatchObject({ ok: false });
    });
  });
}

describe('createExecutor', () => {
  it('refuses a size that is none', () => {
    for (const size of [0, -1, 1.5, Number.NaN]) expect(() => createExecutor({ size })).toThrow(/size/);
  });

  it('runs in threads unless told otherwise, and blocks nobody', async () => {
    const executor = createExecutor({ size: 1 });
    await executor.prewarm();
    const guest = executor.execute('for (;;) {}', [], { timeoutMs: 300 });
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 5);
    await guest;
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
    await executor.dispose();
  });

  it('refuses more waiting executions than it may have', async () => {
    const executor = createExecutor({ isolation: 'inline', size: 1, maxQueued: 1 });
    const results = await Promise.all(Array.from({ length: 5 }, () => executor.execute('1')));
    expect(results.filter((result) => !result.ok).length).toBeGreaterThan(0);
    expect(results.filter((result) => !result.ok)[0]).toMatchObject({
      error: { code: 'internal_error', message: expect.stringMatching(/waiting already/) },
    });
    await executor.dispose();
  });

  it('ends a long preparation of the source like any other work', async () => {
    const executor = createExecutor({ isolation: 'thread', size: 1 });
    await executor.prewarm();
    const code = `${'const a = { b: [1, (x) => x * 2] };{'.repeat(1)}${'f(a, b, [1, 2, 3], { x: 1, y: (z) => z });'.repeat(20_000)}}`;
    expect(await executor.execute(code, [], { timeoutMs: 1 })).toMatchObject({ ok: false, error: { code: 'timeout' } });
    expect(await executor.execute('1')).toMatchObject({ ok: true });
    await executor.dispose();
  });
});
