import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSallyportError } from '../../src/errors/index.js';
import { encodeJsonLine, JsonLineDecoder, ndjsonTransport } from '../../src/wire/ndjson.js';
import type { CloseReason, Transport } from '../../src/wire/transport.js';
import { splitAt } from './splits.js';
import { type Message, transportContract } from './transport-contract.js';

const closed = (transport: Transport<unknown, unknown>): Promise<CloseReason> =>
  new Promise((resolve) => transport.onClose(resolve));

transportContract('NDJSON that leaves message by message', async () => {
  const there = new PassThrough({ highWaterMark: 16 * 1024 });
  const back = new PassThrough({ highWaterMark: 16 * 1024 });
  return {
    left: ndjsonTransport({ readable: back, writable: there, flush: 'message' }) as Transport<Message, Message>,
    right: ndjsonTransport({ readable: there, writable: back, flush: 'message' }) as Transport<Message, Message>,
    dispose: () => {
      there.destroy();
      back.destroy();
    },
  };
});

transportContract('NDJSON over a pair of streams', async () => {
  const there = new PassThrough({ highWaterMark: 16 * 1024 });
  const back = new PassThrough({ highWaterMark: 16 * 1024 });
  return {
    left: ndjsonTransport({ readable: back, writable: there }) as Transport<Message, Message>,
    right: ndjsonTransport({ readable: there, writable: back }) as Transport<Message, Message>,
    dispose: () => {
      there.destroy();
      back.destroy();
    },
  };
});

describe('NDJSON', () => {
  it('leaves at the end of the turn, or with each message where the turn may be cut off', () => {
    for (const [flush, sent] of [
      ['turn', 0],
      ['message', 8],
    ] as const) {
      const writable = new PassThrough();
      const transport = ndjsonTransport({ readable: new PassThrough(), writable, flush });
      void transport.send({ a: 1 });
      expect(writable.readableLength).toBe(sent);
      transport.terminate();
    }
  });

  it('gives back any sequence of messages for any split of its bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.array(fc.nat()), (messages, cuts) => {
        const decoder = new JsonLineDecoder();
        const seen: unknown[] = [];
        const text = messages.map(encodeJsonLine).join('');
        for (const chunk of splitAt(Buffer.from(text), cuts)) decoder.push(chunk, (message) => seen.push(message));
        decoder.end((message) => seen.push(message));
        expect(seen).toEqual(JSON.parse(JSON.stringify(messages)));
      }),
    );
  });

  it('ends the transport with the reason when a line is not JSON', async () => {
    const readable = new PassThrough();
    const transport = ndjsonTransport({ readable, writable: new PassThrough() });
    const seen: unknown[] = [];
    transport.onMessage((message) => {
      seen.push(message);
    });
    readable.write('{"n":1}\nnot json\n{"n":2}\n');
    const reason = await closed(transport);
    expect(reason.kind).toBe('error');
    expect(isSallyportError(reason.error, 'WIRE_SYNTAX')).toBe(true);
    expect(seen).toEqual([{ n: 1 }]);
  });

  it('hands a line that is not JSON to the protocol where it wants to answer it', async () => {
    const readable = new PassThrough();
    const transport = ndjsonTransport({
      readable,
      writable: new PassThrough(),
      onMalformed: (error) => ({ malformed: isSallyportError(error) ? error.code : 'other' }),
    });
    const seen: unknown[] = [];
    transport.onMessage((message) => {
      seen.push(message);
    });
    readable.end('nope\n{"n":2}\n');
    await closed(transport);
    expect(seen).toEqual([{ malformed: 'WIRE_SYNTAX' }, { n: 2 }]);
  });

  it('refuses to send more to a peer that does not read when the backlog is full', async () => {
    const writable = new PassThrough({ highWaterMark: 16 });
    const transport = ndjsonTransport({ readable: new PassThrough(), writable, maxBacklogBytes: 1000 });
    expect(() => {
      for (let n = 0; n < 100; n += 1) void transport.send({ n, text: 'x'.repeat(50) });
    }).toThrow(expect.objectContaining({ code: 'WIRE_BACKLOG' }));
    transport.terminate();
  });

  it('fails a half-arrived line when the clock says so', async () => {
    let fire = (): void => {};
    const readable = new PassThrough();
    const transport = ndjsonTransport({
      readable,
      writable: new PassThrough(),
      partialTimeoutMs: 50,
      clock: {
        setTimeout: (callback) => {
          fire = callback;
          return 1;
        },
        clearTimeout: () => {},
      },
    });
    transport.onMessage(() => {});
    readable.write('{"half":');
    await new Promise((next) => setImmediate(next));
    fire();
    expect(isSallyportError((await closed(transport)).error, 'WIRE_FRAME_TIMEOUT')).toBe(true);
  });

  it('talks with a real child over its stdio', async () => {
    const child = spawn('cat', [], { stdio: ['pipe', 'pipe', 'ignore'] });
    const transport = ndjsonTransport({ readable: child.stdout, writable: child.stdin });
    const seen: unknown[] = [];
    transport.onMessage((message) => {
      seen.push(message);
    });
    const text = 'x'.repeat(1_000_000);
    for (let n = 0; n < 20; n += 1) await transport.send({ n, text });
    child.stdin.end();
    const reason = await closed(transport);
    expect(reason.kind).toBe('peer-closed');
    expect(seen).toHaveLength(20);
    expect(seen[19]).toEqual({ n: 19, text });
  });

  it('closes when the child is killed half-way through a line', async () => {
    const child = spawn('sh', ['-c', 'printf "{\\"half\\":"; kill -9 $$'], { stdio: ['pipe', 'pipe', 'ignore'] });
    const transport = ndjsonTransport({ readable: child.stdout, writable: child.stdin });
    transport.onMessage(() => expect.unreachable());
    const reason = await closed(transport);
    expect(reason.kind).toBe('error');
    expect(isSallyportError(reason.error, 'WIRE_SYNTAX')).toBe(true);
  });
});
