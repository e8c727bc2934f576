import { Duplex, Readable, Writable } from 'node:stream';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { createSink, type DuplexContext, openWasm } from '../../../src/wasm/index.js';
import { C_GUEST, collect, failure, from, MISBEHAVE, open } from '../guests.js';

describe('a call', () => {
  it('carries any value both ways: JSON, binary, large integers; undefined is dropped', async () => {
    const { client } = await open(C_GUEST);
    const { echo } = client.call;
    expect(await echo?.({ a: undefined, b: [undefined], c: new Uint8Array([1]), d: -(2n ** 60n) })).toEqual({
      b: [null],
      c: Uint8Array.of(1),
      d: -(2n ** 60n),
    });
    // An absent value has no bytes of its own: the guest answers with nil.
    expect(await echo?.()).toBeNull();
    expect(await echo?.({ __proto__: 1, constructor: 2 })).toEqual({ constructor: 2 });
    expect(Object.keys(Object(await echo?.(JSON.parse('{"__proto__":1,"toString":2}'))))).toEqual([
      '__proto__',
      'toString',
    ]);
  });

  it('that cannot be sent names the place, and the guest lives on', async () => {
    const { client, events } = await open(C_GUEST);
    await client.call['add']?.([1, 1]);
    expect(await failure(client.call['echo']?.({ a: [1, Number.NaN] }) ?? Promise.resolve())).toMatchObject({
      code: 'WASM_PARAMS_INVALID',
      message: expect.stringContaining('$.params.a[1]'),
    });
    expect(await failure(client.call['echo']?.(new Date()) ?? Promise.resolve())).toMatchObject({
      code: 'WASM_PARAMS_INVALID',
    });
    const cycle: unknown[] = [];
    cycle.push(cycle, cycle);
    expect(await failure(client.call['echo']?.(cycle) ?? Promise.resolve())).toMatchObject({
      code: 'WASM_PARAMS_INVALID',
    });
    expect(await client.call['add']?.([2, 2])).toBe(4);
    expect(events).toHaveLength(1);
  });

  it('is checked against its schemas in both directions, and typed by them', async () => {
    await using client = await openWasm(C_GUEST, {
      functions: {
        add: { input: z.tuple([z.number(), z.number()]), output: z.number() },
        echo: { input: { type: 'object', required: ['name'] }, output: z.object({ name: z.string() }) },
        divide: { output: { type: 'string' } },
      },
    });
    expectTypeOf(client.call.add).parameter(0).toEqualTypeOf<[number, number]>();
    expectTypeOf(client.call.add).returns.resolves.toBeNumber();
    expectTypeOf(client.call.echo).returns.resolves.toEqualTypeOf<{ name: string }>();
    expect(Object.keys(client.call)).toEqual(['add', 'echo', 'divide']);
    expect(await client.call.add([1, 2])).toBe(3);
    expect(await client.call.echo({ name: 'x', more: 1 })).toEqual({ name: 'x' });
    expect(await failure(client.call.echo({}))).toMatchObject({
      code: 'WASM_PARAMS_INVALID',
      message: expect.stringContaining('name'),
    });
    expect(await failure(client.call.echo({ name: 1 }))).toMatchObject({
      code: 'WASM_RESULT_INVALID',
      message: expect.stringContaining('the result of echo does not fit its schema: result.name'),
    });
    expect(await failure(client.call.divide([4, 2]))).toMatchObject({ code: 'WASM_RESULT_INVALID' });
    const nope: unknown = Reflect.get(client.call, 'nope');
    expect(await failure(Promise.resolve(Reflect.apply(Object(nope), undefined, [])))).toMatchObject({
      code: 'WASM_FUNCTION_UNKNOWN',
    });
  });

  it('that is aborted rejects at once, and its late answer disturbs nobody', async () => {
    const { client, events } = await open(C_GUEST);
    const { sleep, add } = client.call;
    await add?.([0, 0]);
    const controller = new AbortController();
    const sleeping = sleep?.(100, { signal: controller.signal });
    controller.abort();
    expect(await failure(sleeping ?? Promise.resolve())).toMatchObject({ code: 'WASM_CALL_ABORTED' });
    expect(await failure(sleep?.(1, { signal: AbortSignal.abort() }) ?? Promise.resolve())).toMatchObject({
      code: 'WASM_CALL_ABORTED',
    });
    expect(await sleep?.(200)).toBe(1);
    expect(events).toHaveLength(1);
  });

  it('without an answer resolves when it is sent', async () => {
    const { client } = await open(C_GUEST);
    expect(await client.notify['logEvent']?.({ event: 'started' })).toBeUndefined();
    await client.notify['logEvent']?.();
    expect(await client.call['countEvents']?.()).toBe(2);
  });
});

describe('what the guest may call', () => {
  it('is granted by name, validated in and out, and told about its call', async () => {
    const seen: unknown[] = [];
    await using client = await openWasm(C_GUEST, {
      grant: {
        price: {
          input: z.object({ productId: z.string() }),
          output: z.number(),
          execute: ({ productId }, context) => {
            expectTypeOf(productId).toBeString();
            seen.push([context.toolName, typeof context.callId, context.signal.aborted]);
            return productId === 'p-42' ? 6.99 : Number.NaN;
          },
        },
        fail: () => {
          throw new Error('out of stock');
        },
        bad: () => ({ when: new Date() }),
        later: async (input) => [input, 2n ** 60n, Uint8Array.of(7)],
      },
    });
    const callHost = (name: string, params?: unknown): Promise<unknown> =>
      client.call['callHost']?.({ name, params }) ?? Promise.reject();
    expect(await callHost('price', { productId: 'p-42' })).toBe(6.99);
    expect(seen).toEqual([['price', 'string', false]]);
    expect(await failure(callHost('price', { productId: 7 }))).toMatchObject({
      message: expect.stringContaining('price refused its input'),
    });
    expect(await failure(callHost('price', { productId: 'x' }))).toMatchObject({
      message: expect.stringContaining('does not fit its output schema'),
    });
    expect(await failure(callHost('fail'))).toMatchObject({ code: 'WASM_CALL_FAILED', message: 'out of stock' });
    expect(await failure(callHost('bad'))).toMatchObject({ message: expect.stringContaining('$.result.when') });
    expect(await callHost('later', 'x')).toEqual(['x', 2n ** 60n, Uint8Array.of(7)]);
  });

  it('includes the callbacks of a call, as long as it runs', async () => {
    const { client } = await open(MISBEHAVE);
    expect(await client.call['callLate']?.({ name: () => 'never' })).toBe(1);
    await expect.poll(() => client.call['lastHeard']?.()).toBe('callback expired');
  });

  it('can stream to and from the guest under an id that the guest has chosen', async () => {
    const { client } = await open(C_GUEST, {
      grant: {
        listItems: async (params, context) => {
          if (!isDuplex(context)) throw new Error('no streams');
          await context.send(String(params), from([1, 2, 3]));
          return 'sent';
        },
      },
    });
    // This guest calls the host and ignores what it is sent, which is its right.
    expect(await client.call['callHost']?.({ name: 'listItems', params: 'x1' })).toBe('sent');
  });

  it('may not have the name of a callback', async () => {
    expect(await failure(openWasm(C_GUEST, { grant: { cb_1: () => 1 } }))).toMatchObject({ code: 'TOOLS_NAME' });
  });
});

const isDuplex = (context: object): context is DuplexContext => 'send' in context && 'receive' in context;

describe('streams', () => {
  it('lose nothing when the consumer comes late', async () => {
    const { client } = await open(C_GUEST);
    const stream = createSink();
    expect(await client.call['produce']?.({ stream, count: 1_000, size: 100 })).toBe(1_000);
    expect(await collect(stream)).toHaveLength(1_000);
  });

  it('go into web streams, Node streams and anything with write and end', async () => {
    const { client } = await open(C_GUEST);
    const counts = [0, 0, 0];
    const count = (index: number) => () => {
      counts[index] = (counts[index] ?? 0) + 1;
    };
    const ends: string[] = [];
    const sinks = [
      new WritableStream({ write: count(0), close: () => void ends.push('web') }),
      new Writable({
        objectMode: true,
        write: (_chunk, _encoding, done) => {
          count(1)();
          done();
        },
        final: (done) => {
          ends.push('node');
          done();
        },
      }),
      { write: count(2), end: () => ends.push('own') },
    ];
    for (const stream of sinks) await client.call['produce']?.({ stream, count: 5, size: 4 });
    await expect.poll(() => ends.sort()).toEqual(['node', 'own', 'web']);
    expect(counts).toEqual([5, 5, 5]);
  });

  it('come from web streams, Node streams and generators', async () => {
    const { client } = await open(C_GUEST);
    const { consume } = client.call;
    const web = new ReadableStream({
      start: (controller) => [1, 2].map((n) => controller.enqueue(n)) && controller.close(),
    });
    const node = Readable.from([3, 4]);
    expect(await consume?.({ stream: web })).toEqual([2, 3]);
    expect(await consume?.({ stream: node })).toEqual([2, 7]);
    expect(await failure(consume?.({ stream: new Duplex() }) ?? Promise.resolve())).toMatchObject({
      code: 'WASM_PARAMS_INVALID',
    });
  });

  it('pass errors on in both directions', async () => {
    const { client } = await open(MISBEHAVE);
    const { client: good } = await open(C_GUEST);
    const stream = createSink();
    await client.call['failStream']?.({ stream });
    const seen: unknown[] = [];
    const error = await failure(
      (async () => {
        for await (const chunk of stream) seen.push(chunk);
      })(),
    );
    expect(error).toMatchObject({ code: 'WASM_STREAM_FAILED', message: 'Connection lost' });
    expect(seen).toHaveLength(1);
    async function* broken(): AsyncGenerator<number> {
      yield 1;
      throw new Error('sensor is gone');
    }
    expect(await failure(good.call['consume']?.({ stream: broken() }) ?? Promise.resolve())).toMatchObject({
      message: 'sensor is gone',
    });
  });

  it('end with an error when the guest does', async () => {
    const { client } = await open(MISBEHAVE);
    const stream = createSink();
    const call = client.call['flood']?.({ stream, size: 10 }, { timeoutMs: 300 });
    const consuming = failure(collect(stream));
    expect(await failure(call ?? Promise.resolve())).toMatchObject({ code: 'WASM_TIMEOUT' });
    expect(await consuming).toMatchObject({ code: 'WASM_TIMEOUT', facts: { function: 'flood', signal: 'SIGKILL' } });
  });

  it('whose consumer stops early are thrown away up to a budget', async () => {
    const { client, events } = await open(C_GUEST);
    const stream = createSink();
    const call = client.call['produce']?.({ stream, count: 2_000, size: 1_000 });
    for await (const _chunk of stream) break;
    expect(await call).toBe(2_000);
    expect(events).toHaveLength(1);
    const { client: flooded } = await open(MISBEHAVE, { limits: { discardBytes: 1_000_000 } });
    const flood = createSink();
    const flooding = failure(flooded.call['flood']?.({ stream: flood, size: 1_000 }) ?? Promise.resolve());
    for await (const _chunk of flood) break;
    expect(await flooding).toMatchObject({ code: 'WASM_STREAM_ABANDONED' });
  });

  it('that bring nothing for too long end the guest', async () => {
    const { client } = await open(C_GUEST, { limits: { streamIdleMs: 1_000 } });
    const stream = createSink();
    const call = failure(client.call['sleep']?.(10_000) ?? Promise.resolve());
    await client.call['echo']?.({ stream });
    expect(await failure(collect(stream))).toMatchObject({ code: 'WASM_STREAM_IDLE' });
    expect(await call).toMatchObject({ code: 'WASM_STREAM_IDLE' });
  });
});

describe('disposing', () => {
  it('ends the input, waits, and leaves nothing behind; calls that come later are refused', async () => {
    const { client, events } = await open(C_GUEST);
    await client.call['add']?.([1, 1]);
    const [pid] = client.pids;
    const pending = failure(client.call['sleep']?.(10_000) ?? Promise.resolve());
    await client.dispose();
    expect(await pending).toMatchObject({ code: 'WASM_DISPOSED' });
    expect(() => process.kill(pid ?? 0, 0)).toThrow();
    expect(events.at(-1)).toMatchObject({ type: 'ended', exitCode: 0, error: undefined });
    expect(await failure(client.call['add']?.([1, 1]) ?? Promise.resolve())).toMatchObject({ code: 'WASM_DISPOSED' });
    await client.dispose();
  });

  it('kills a guest that does not leave by itself', async () => {
    const { client, events } = await open(MISBEHAVE, { limits: { disposeGraceMs: 100 } });
    const call = failure(client.call['misbehave']?.('deaf') ?? Promise.resolve());
    await expect.poll(() => events.length).toBe(1);
    await client.dispose();
    expect(await call).toMatchObject({ code: 'WASM_DISPOSED' });
    expect(events.at(-1)).toMatchObject({ type: 'ended', signal: 'SIGKILL' });
  });
});
