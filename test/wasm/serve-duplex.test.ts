import { spawn } from 'node:child_process';
import {
  AsyncWritable,
  createApiClientFromDuplex,
  createRpcFunctionDefinition,
  duplexFromSpawnedProcess,
  type RpcValue,
  type RpcValueWithStreams,
  rpcCallback,
} from 'duplex-rpc';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type DuplexContext, serveDuplex } from '../../src/wasm/index.js';
import { decodeMessagePack, encodeFrame, FrameDecoder } from '../../src/wire/index.js';
import { duplexPair } from './duplex-pair.js';
import { C_GUEST, collect, failure, from } from './guests.js';

const isDuplex = (context: object): context is DuplexContext => 'send' in context && 'receive' in context;
const duplexOf = (context: object): DuplexContext => {
  if (!isDuplex(context)) throw new Error('no streams here');
  return context;
};

const pass = {
  params: (params: RpcValueWithStreams) => params,
  decodeResult: (result: Readonly<RpcValue>): unknown => result,
};

/** A guest side with one function for each part of the protocol, and the published client on the other end. */
function publishedClient() {
  const [ours, theirs] = duplexPair();
  const server = serveDuplex(ours, {
    functions: {
      add: { input: z.tuple([z.number(), z.number()]), output: z.number(), execute: ([a, b]) => a + b },
      fail: () => {
        throw new Error('Division by zero');
      },
      nothing: () => undefined,
      produce: async (params, context) => {
        await duplexOf(context).send(String(Object(params).stream), from(['Hammer', 'Wrench']));
        return 2;
      },
      consume: async (params, context) => collect(duplexOf(context).receive(String(Object(params).stream))),
      progress: async (params, context) => duplexOf(context).call(String(Object(params).onProgress), 50),
    },
  });
  const client = createApiClientFromDuplex(theirs, {
    add: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
    fail: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
    nothing: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
    produce: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
    consume: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
    progress: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
    unknown: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
  });
  onTestFinished(() => {
    client.dispose();
    server.close();
  });
  type Name = 'add' | 'fail' | 'nothing' | 'produce' | 'consume' | 'progress' | 'unknown';
  const call = (name: Name, params: RpcValueWithStreams): Promise<unknown> => client[name](params);
  return { call, server };
}

describe('the guest side, driven by the published client', () => {
  it('answers calls, with results, without, and with errors', async () => {
    const { call } = publishedClient();
    expect(await call('add', [1, 2])).toBe(3);
    expect(await call('nothing', null)).toBeUndefined();
    expect(await failure(call('fail', null))).toMatchObject({ message: 'Division by zero' });
    expect(await failure(call('add', ['1', 2]))).toMatchObject({
      message: expect.stringContaining('add refused its input'),
    });
    expect(await failure(call('unknown', null))).toMatchObject({ message: 'There is no function unknown' });
    expect(await Promise.all(Array.from({ length: 50 }, (_, index) => call('add', [index, 1])))).toEqual(
      Array.from({ length: 50 }, (_, index) => index + 1),
    );
  });

  it('streams in both directions and calls callbacks', async () => {
    const { call } = publishedClient();
    const writable = new AsyncWritable<RpcValue>();
    const items = collect(writable.createAsyncIterator());
    expect(await call('produce', { stream: writable })).toBe(2);
    expect(await items).toEqual(['Hammer', 'Wrench']);
    expect(await call('consume', { stream: from([1, 'two', { three: 3 }]) })).toEqual([1, 'two', { three: 3 }]);
    expect(await call('progress', { onProgress: rpcCallback(async (percent: number) => percent * 2) })).toBe(100);
  });

  it('answers with the very bytes that the specification shows', async () => {
    const [ours, theirs] = duplexPair();
    const server = serveDuplex(ours, {
      functions: { add: (params) => Object(params)[0] + Object(params)[1], none: () => undefined },
    });
    const received: string[] = [];
    const decoder = new FrameDecoder();
    theirs.on('data', (chunk: Buffer) =>
      decoder.push(chunk, (payload) => received.push(Buffer.from(payload).toString('hex'))),
    );
    theirs.write(
      Buffer.from('010000002784ac66756e6374696f6e4e616d65a3616464a26964a130a47479706500a6706172616d73920102', 'hex'),
    );
    theirs.write(encodeFrame({ type: 0, id: '0b', functionName: 'none' }));
    theirs.write(encodeFrame({ type: 0, id: 'c', functionName: 'none', expectsResponse: false }));
    theirs.write(encodeFrame({ type: 0, id: 'd', functionName: 'nope' }));
    await expect.poll(() => received).toHaveLength(3);
    expect(received[0]).toBe('83a26964a130a47479706501a6726573756c7403');
    expect(decodeMessagePack(Buffer.from(received[1] ?? '', 'hex'))).toEqual({ id: '0b', type: 1 });
    expect(decodeMessagePack(Buffer.from(received[2] ?? '', 'hex'))).toMatchObject({ id: 'd', type: 2 });
    server.close();
    expect(await server.closed).toMatchObject({ kind: 'closed' });
  });

  it('ends the session when the host breaks the rules', async () => {
    const [ours, theirs] = duplexPair();
    const server = serveDuplex(ours, { functions: {} });
    const pending = failure(server.call('anything'));
    theirs.write(Buffer.from('hello'));
    expect(await server.closed).toMatchObject({ kind: 'error', error: { code: 'WIRE_FRAME_VERSION' } });
    expect(await pending).toMatchObject({ code: 'WASM_DISPOSED' });
  });
});

describe('the published client and our runtime', () => {
  it('drive the same guest as our client does', async () => {
    const runner = new URL('../../src/wasm/runtime/runner.cjs', import.meta.url).pathname;
    const child = spawn(process.execPath, [runner], { stdio: ['pipe', 'pipe', 'inherit', 'pipe'], env: {} });
    onTestFinished(() => void child.kill('SIGKILL'));
    const { readFileSync } = await import('node:fs');
    const control = child.stdio[3];
    if (control === null || control === undefined || !('end' in control)) throw new Error('no control pipe');
    control.end(readFileSync(C_GUEST));
    const client = createApiClientFromDuplex(duplexFromSpawnedProcess(child), {
      add: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
      produce: createRpcFunctionDefinition<RpcValueWithStreams, unknown>(pass),
    });
    const call = (name: 'add' | 'produce', params: RpcValueWithStreams): Promise<unknown> => client[name](params);
    expect(await call('add', [20, 22])).toBe(42);
    const stream = new AsyncWritable<RpcValue>();
    const items = collect(stream.createAsyncIterator());
    expect(await call('produce', { stream, count: 3, size: 4 })).toBe(3);
    expect(await items).toHaveLength(3);
    client.dispose();
  });
});
