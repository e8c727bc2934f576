import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type AnswerEnd, clientPresence, whenAnswered } from '../../src/wire/http-answer.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server with this handler, and a connection to it. */
async function connected(handler: Handler): Promise<Socket> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => {});
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  return client;
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';

test('says that an answer was sent', async () => {
  const ends: AnswerEnd[] = [];
  const client = await connected((request, response) => {
    whenAnswered(request, response, (end) => ends.push(end));
    response.end('here');
  });
  client.write(GET);
  await once(client, 'data');
  await expect.poll(() => ends).toEqual(['sent']);
  client.destroy();
  await expect.poll(() => client.closed).toBe(true);
  expect(ends).toEqual(['sent']);
});

test('says of every request that stood in line that its client left', async () => {
  const ends: AnswerEnd[] = [];
  const signals: AbortSignal[] = [];
  const client = await connected((request, response) => {
    whenAnswered(request, response, (end) => ends.push(end));
    signals.push(clientPresence(request, response));
  });
  client.write(GET.repeat(30));
  await expect.poll(() => signals.length).toBe(30);
  client.destroy();
  await expect.poll(() => ends.length).toBe(30);
  expect(new Set(ends)).toEqual(new Set(['left']));
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
});

test('says it also to who asks when the client is gone already', async () => {
  const ends: AnswerEnd[] = [];
  const client = await connected((request, response) => {
    request.socket.once('close', () => setImmediate(() => whenAnswered(request, response, (end) => ends.push(end))));
  });
  client.write(GET);
  setTimeout(() => client.destroy(), 20);
  await expect.poll(() => ends).toEqual(['left']);
});
