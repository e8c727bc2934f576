import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gone, numbers } from '../sandbox/helpers.js';
import { ownServer, rawPair } from './helpers.js';
import { base64, builtServer, connect, connectWebSocket, laterStart } from './raw-client.js';

/** A listening server of the built program. */
async function listening(...limits: readonly string[]): Promise<string> {
  const options = limits.flatMap((limit) => ['--limit', limit]);
  return (await builtServer(['--listen', 'ws://127.0.0.1:0', ...options])).url;
}

describe('a session of the later dialect over WebSocket', () => {
  it('outlives its connection, and its next one gets what was missed', async () => {
    const url = await listening();
    const first = await connectWebSocket(url);
    const sessionId = await first.later();
    const script = 'echo one; read x; for i in 1 2 3; do echo missed$i; sleep 0.02; done; read y; echo end';
    await first.call('process/start', laterStart('p', script, { pipeStdin: true }));
    await first.shows('p', 'one\n');
    await first.call('process/write', { processId: 'p', writeId: 'w1', chunk: base64('\n') });
    first.end();
    await first.closed;
    const second = await connectWebSocket(url);
    await expect
      .poll(async () => {
        const again = await connectWebSocket(url);
        const id = await again.later(sessionId);
        if (id !== undefined) again.end();
        return id;
      })
      .toBe(sessionId);
    await expect
      .poll(async () => second.call('initialize', { clientName: 'x', resumeSessionId: sessionId }))
      .toHaveProperty('result.sessionId', sessionId);
    second.send({ method: 'initialized' });
    // A write that was acknowledged before is not written twice.
    await second.call('process/write', { processId: 'p', writeId: 'w1', chunk: base64('\n') });
    await expect
      .poll(async () => {
        const read = await second.call('process/read', { processId: 'p', afterSeq: 0 });
        return read.result.chunks
          .map(({ chunk }: { chunk: string }) => Buffer.from(chunk, 'base64').toString())
          .join('');
      })
      .toBe('one\nmissed1\nmissed2\nmissed3\n');
    await second.call('process/write', { processId: 'p', writeId: 'w2', chunk: base64('\n') });
    await second.notification('process/closed', 'p');
    const sent = [...first.received, ...second.received].filter((message) => message.params?.processId === 'p');
    const seqs = sent.map((message) => message.params.seq);
    expect(new Set(seqs).size).toBe(seqs.length);
    expect(second.output('p')).toContain('end\n');
  });

  it('can be resumed by one connection at a time', async () => {
    const url = await listening();
    const first = await connectWebSocket(url);
    const sessionId = await first.later();
    const rival = await connectWebSocket(url);
    const resume = { clientName: 'x', resumeSessionId: sessionId };
    expect((await rival.call('initialize', resume)).error).toMatchObject({ code: -32010 });
    first.end();
    await first.closed;
    const clients = await Promise.all([connectWebSocket(url), connectWebSocket(url)]);
    await expect.poll(async () => (await rival.call('initialize', resume)).result?.sessionId).toBe(sessionId);
    for (const client of clients) {
      expect((await client.call('initialize', resume)).error).toMatchObject({ code: -32010 });
    }
  });

  it('is gone with its processes when nobody came back in time', async () => {
    const url = await listening('detachMs=100');
    const first = await connectWebSocket(url);
    const sessionId = await first.later();
    await first.call('process/start', laterStart('p', 'sleep 300 & echo $! $$; exec sleep 300'));
    const pids = numbers(await first.shows('p', '\n'));
    first.end();
    expect(await gone(pids)).toBe(true);
    const second = await connectWebSocket(url);
    const { error } = await second.call('initialize', { clientName: 'x', resumeSessionId: sessionId });
    expect(error).toMatchObject({ code: -32600, message: expect.stringContaining('unknown session') });
    // A refused resume leaves the connection usable.
    expect(await second.later()).toBeDefined();
  });

  it('stops a child whose output nobody takes, and loses nothing of it', async () => {
    const url = await listening('retainedBytes=65536');
    const first = await connectWebSocket(url);
    const sessionId = await first.later();
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-session-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const go = join(folder, 'go');
    // What is on its way to a client that leaves is lost with it, so the output begins when the session is detached for sure.
    await first.call('process/start', laterStart('p', `until [ -e '${go}' ]; do sleep 0.02; done; seq 1 100000`));
    first.end();
    await first.closed;
    await new Promise((later) => setTimeout(later, 300));
    writeFileSync(go, '');
    const second = await connectWebSocket(url);
    await expect
      .poll(async () => (await second.call('initialize', { clientName: 'x', resumeSessionId: sessionId })).result)
      .toBeDefined();
    second.send({ method: 'initialized' });
    await second.notification('process/closed', 'p');
    const lines = (first.output('p') + second.output('p')).trim().split('\n');
    expect(lines).toHaveLength(100_000);
    expect(lines.at(-1)).toBe('100000');
  });

  it('is unknown to others', async () => {
    const server = ownServer();
    const session = server.handler.sessions.open({ dialect: 'later', principal: 'alice', maxChunkBytes: 1 });
    await server.handler.sessions.leave(session);
    expect(() => server.handler.sessions.resume(session.id, 'bob')).toThrow('unknown session');
    expect(server.handler.sessions.resume(session.id, 'alice')).toBe(session);
  });

  it('gives way to newer ones when too many are detached', async () => {
    const server = ownServer({ limits: { detachedSessions: 2 } });
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const client = rawPair(server);
      ids.push(await client.later());
      client.end();
      await client.closed;
    }
    await expect.poll(() => server.handler.sessions.size).toBe(2);
    expect(() => server.handler.sessions.resume(ids[0] ?? '', '')).toThrow('unknown session');
  });
});

describe('a session of the later dialect over stdio', () => {
  it('is the only one there: no other can be resumed, and the connection stays usable', async () => {
    const client = await connect('stdio');
    const resume = { clientName: 'x', resumeSessionId: '00000000-0000-0000-0000-000000000000' };
    expect((await client.call('initialize', resume)).error).toMatchObject({ code: -32600 });
    const sessionId = await client.later();
    expect(sessionId).toBeDefined();
    const again = await client.call('initialize', { clientName: 'x', resumeSessionId: sessionId });
    expect(again.error).toMatchObject({ code: -32600 });
  });
});

describe('what is kept of closed processes', () => {
  it('is bounded in time, number and bytes', async () => {
    const server = ownServer({ limits: { retentionMs: 50 } });
    const client = rawPair(server);
    await client.later();
    await client.call('process/start', laterStart('p', 'echo hi'));
    await client.notification('process/closed', 'p');
    await expect.poll(async () => (await client.call('process/list')).result.processes).toEqual([]);
    expect((await client.call('process/read', { processId: 'p' })).error.code).toBe(-32600);
    expect(await client.call('process/start', laterStart('p', 'true'))).toHaveProperty('result.processId', 'p');

    const small = rawPair(ownServer({ limits: { retainedClosed: 3, retainedClosedBytes: 10 } }));
    await small.later();
    for (let count = 0; count < 6; count += 1) {
      await small.call('process/start', laterStart(`p${count}`, 'printf 1234'));
      await small.notification('process/closed', `p${count}`);
    }
    const kept = (await small.call('process/list')).result.processes.map(
      ({ processId }: { processId: string }) => processId,
    );
    expect(kept).toEqual(['p3', 'p4', 'p5']);
    const old = await small.call('process/read', { processId: 'p3', afterSeq: 0 });
    expect(old.result).toMatchObject({ chunks: [], truncated: true, exitCode: 0 });
  });

  it('still ends what a forgotten process left behind', async () => {
    const server = ownServer({ limits: { retentionMs: 1 } });
    const client = rawPair(server);
    await client.first();
    await client.call('process/start', {
      ...laterStart('p', 'nohup sleep 300 >/dev/null 2>&1 & echo $!'),
      cwd: '/tmp',
    });
    await client.notification('process/exited', 'p');
    const pids = numbers(client.output('p'));
    await expect.poll(async () => (await client.call('process/list')).result.processes).toEqual([]);
    client.end();
    expect(await gone(pids)).toBe(true);
  });
});
