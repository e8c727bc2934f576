import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { EncodedJson } from '../../src/wire/encoded-json.js';
import { memoryPair } from '../../src/wire/memory-pair.js';
import { ndjsonTransport } from '../../src/wire/ndjson.js';
import { webSocketTransport } from '../../src/wire/websocket.js';
import { listenWebSocket } from '../../src/wire/websocket-listener.js';

const message = new EncodedJson(Buffer.from('{"n":1}\n'));

describe('a message that is encoded already', () => {
  it('is sent as it is over lines', async () => {
    const writable = new PassThrough();
    const transport = ndjsonTransport({ readable: new PassThrough(), writable });
    expect(transport.carriesJson).toBe(true);
    void transport.send(message);
    void transport.send({ n: 2 });
    expect(String((await once(writable, 'data'))[0])).toBe('{"n":1}\n{"n":2}\n');
    transport.terminate();
  });

  it('is sent as it is in a text frame', async () => {
    const listener = await listenWebSocket({ host: '127.0.0.1', port: 0 }, (socket) => {
      void webSocketTransport(socket).send(message);
    });
    onTestFinished(() => listener.close());
    const socket = new WebSocket(listener.url);
    const [data, isBinary] = await once(socket, 'message');
    expect([String(data), isBinary]).toEqual(['{"n":1}', false]);
    socket.close();
  });

  it('is not for transports that hand values over', () => {
    expect(memoryPair()[0].carriesJson).toBeUndefined();
  });
});
