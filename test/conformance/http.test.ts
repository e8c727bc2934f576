import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openContext } from '../../src/conformance/context.js';
import { callHttp } from '../../src/conformance/target/http.js';

async function serve(answer: 'echo' | 'hang'): Promise<string> {
  const server = createServer((request, response) => {
    if (answer === 'hang') return;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      response.writeHead(201, { 'x-made': 'here' });
      response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(chunks).toString() }));
    });
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

function contextFor(url: string, limitMs = 5_000) {
  const context = openContext({ target: { kind: 'url', url, token: 'secret' }, settings: new Map(), limitMs });
  onTestFinished(() => context[Symbol.asyncDispose]());
  return context;
}

describe('an HTTP call of a check', () => {
  it('sends what it is told, with the key, and gives status, headers and JSON', async () => {
    const context = contextFor(`${await serve('echo')}/base/`);
    const answer = await callHttp(context, {
      method: 'POST',
      path: '/x?y=1',
      body: { a: 1 },
      headers: { 'x-own': 'z' },
    });
    expect(answer).toMatchObject({ status: 201, headers: { 'x-made': 'here' } });
    expect(answer.json).toMatchObject({
      method: 'POST',
      url: '/base/x?y=1',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json', authorization: 'Bearer secret', 'x-own': 'z' },
    });
  });

  it('leaves out a header that is undefined, the key included', async () => {
    const context = contextFor(await serve('echo'));
    const { json } = await callHttp(context, { method: 'GET', path: '/', headers: { authorization: undefined } });
    expect(json).not.toMatchObject({ headers: { authorization: expect.anything() } });
  });

  it('is in the transcript, without the key', async () => {
    const context = contextFor(await serve('echo'));
    await callHttp(context, { method: 'PUT', path: '/', body: 'not { json' });
    const [sent] = context.transcript.entries;
    expect(sent?.text).toBe('PUT / {"content-length":"10","authorization":"Bearer …"} not { json');
  });

  it('fails the check when no answer comes in time, or none at all', async () => {
    const slow = contextFor(await serve('hang'), 300);
    await expect(callHttp(slow, { method: 'GET', path: '/' })).rejects.toThrow('expected an answer to GET /');
    const closed = contextFor('http://127.0.0.1:9');
    await expect(callHttp(closed, { method: 'GET', path: '/' })).rejects.toThrow('ECONNREFUSED');
  });
});
