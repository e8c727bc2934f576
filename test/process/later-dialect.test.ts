import { homedir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { base64, connectTo, KINDS, laterStart, sharedServer } from './raw-client.js';

const server = sharedServer();

describe.each(KINDS)('the later dialect over %s', (kind) => {
  it('is told by resumeSessionId, answers with a session and names what it adds', async () => {
    const client = await connectTo(kind, server);
    const { result } = await client.call('initialize', { clientName: 'x', resumeSessionId: null });
    expect(result.sessionId).toMatch(/^[0-9a-f-]{36}$/);
    expect(result.capabilities).toMatchObject({ closeStdin: true, resize: true, wait: true });
    expect((await client.call('process/list')).error).toMatchObject({ code: -32600 });
    client.send({ method: 'initialized' });
    expect((await client.call('nope')).error).toEqual({ code: -32601, message: 'unknown method: nope' });
    expect((await client.call('initialize', { clientName: 'x', resumeSessionId: null })).error.code).toBe(-32600);
    const info = (await client.call('environment/info', null)).result;
    expect(info).toMatchObject({ shell: { name: expect.any(String), path: expect.stringMatching(/^\//) } });
    expect(info.cwd).toMatch(/^file:\/\/\//);
    expect(Object.values(info.capabilities).every((value) => typeof value === 'boolean')).toBe(true);
    expect((await client.call('environment/status', null)).result).toEqual({ status: 'ready' });
  });

  it('numbers output, exit and close with one counter, and close comes last', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    const started = await client.call('process/start', laterStart('p', 'echo hi; echo err >&2; exit 3'));
    expect(started.result).toEqual({ processId: 'p', sandboxType: 'none' });
    await client.notification('process/closed', 'p');
    const notes = client.received.filter((message) => message.params?.processId === 'p');
    expect(notes.map((message) => message.params.seq)).toEqual([1, 2, 3, 4]);
    expect(notes.at(-2)).toEqual({
      method: 'process/exited',
      params: { processId: 'p', seq: 3, exitCode: 3, sandboxDenied: false },
    });
    expect(notes.at(-1)).toEqual({ method: 'process/closed', params: { processId: 'p', seq: 4 } });
    const read = await client.call('process/read', { processId: 'p', afterSeq: null, maxBytes: null, waitMs: null });
    expect(read.result).toMatchObject({
      nextSeq: 5,
      exited: true,
      exitCode: 3,
      closed: true,
      failure: null,
      sandboxDenied: false,
    });
    expect(read.result.chunks.map((chunk: { seq: number }) => chunk.seq)).toEqual([1, 2]);
  });

  it('takes paths as file: URIs only', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    for (const cwd of [
      '/tmp',
      'tmp',
      'file:tmp',
      'file://host/tmp',
      'file:///tmp%00',
      'file:///a%2Fb',
      'http://x/',
      '',
    ]) {
      const { error } = await client.call('process/start', laterStart('p', 'true', { cwd }));
      expect(error, cwd).toMatchObject({ code: -32602, message: expect.stringContaining('cwd') });
    }
    await client.call('process/start', laterStart('p', 'pwd', { cwd: 'file:///usr/../%74mp/' }));
    await client.notification('process/closed', 'p');
    expect(client.output('p')).toBe('/tmp\n');
  });

  it('writes once per writeId, and says what became of a write', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    await client.call('process/start', laterStart('c', 'exec cat', { pipeStdin: true }));
    const write = async (processId: string, text: string, writeId?: string) =>
      client.call('process/write', { processId, chunk: base64(text), writeId });
    expect((await write('c', 'one\n', 'w1')).result).toEqual({ status: 'accepted' });
    expect((await write('c', 'one\n', 'w1')).result).toEqual({ status: 'accepted' });
    expect((await write('c', 'two\n', 'w2')).result).toEqual({ status: 'accepted' });
    await client.shows('c', 'two\n');
    expect(client.output('c')).toBe('one\ntwo\n');
    expect((await write('c', 'x')).error).toMatchObject({ code: -32602, message: expect.stringContaining('writeId') });
    expect((await write('zz', 'x', 'w')).result).toEqual({ status: 'unknownProcess' });
    expect((await client.call('process/closeStdin', { processId: 'c' })).result).toEqual({});
    await client.notification('process/closed', 'c');
    expect((await write('c', 'x', 'w3')).result).toEqual({ status: 'stdinClosed' });
    await client.call('process/start', laterStart('n', 'sleep 60'));
    expect((await write('n', 'x', 'w')).result).toEqual({ status: 'stdinClosed' });
    // A write that overtakes the answer to its start is told so.
    client.send({ id: 'slow', method: 'process/start', params: laterStart('s', 'exec cat', { pipeStdin: true }) });
    expect((await write('s', 'x', 'w')).result.status).toMatch(/starting|accepted/);
  });

  it('interrupts, signals by any name, and does not mind an unknown process', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    const signal = (processId: string, name: string) => client.call('process/signal', { processId, signal: name });
    await client.call('process/start', laterStart('a', 'echo up; exec sleep 60'));
    await client.shows('a', 'up');
    expect((await signal('a', 'interrupt')).result).toEqual({});
    expect((await client.notification('process/exited', 'a')).params.exitCode).toBe(130);
    await client.call(
      'process/start',
      laterStart('b', 'trap "echo hup; exit 5" HUP; echo up; while :; do sleep 0.05; done'),
    );
    await client.shows('b', 'up');
    expect((await signal('b', 'SIGHUP')).result).toEqual({});
    expect((await client.notification('process/exited', 'b')).params.exitCode).toBe(5);
    expect((await signal('nobody', 'interrupt')).result).toEqual({});
    expect((await signal('nobody', 'SIGNOPE')).error.code).toBe(-32602);
  });

  it('builds the environment from a policy', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    const policy = {
      inherit: 'core',
      ignoreDefaultExcludes: false,
      exclude: ['HO*'],
      set: { B: '2' },
      includeOnly: [],
    };
    const argv = ['/usr/bin/env'];
    await client.call('process/start', laterStart('e', '', { argv, env: { A: '1' }, envPolicy: policy }));
    await client.notification('process/closed', 'e');
    const lines = client.output('e').trim().split('\n').sort();
    expect(lines).toEqual(['A=1', 'B=2', expect.stringMatching(/^PATH=/)]);
    expect(homedir()).toBeTruthy();
    const bad = { ...policy, inherit: 'some' };
    const { error } = await client.call('process/start', laterStart('f', '', { argv, envPolicy: bad }));
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('envPolicy.inherit') });
  });

  it('answers a malformed frame with id -1 and stays', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    for (const text of [
      'not json',
      '[]',
      '5',
      '{"id":null,"method":"x"}',
      '{"id":1.5,"method":"x"}',
      '{"id":1,"id":1}',
    ]) {
      const before = client.received.length;
      client.sendText(text);
      const answer = await client.until((message) => client.received.indexOf(message) >= before);
      expect(answer).toMatchObject({ id: -1, error: { code: -32600 } });
    }
    expect((await client.call('environment/status')).result).toEqual({ status: 'ready' });
    client.send({ method: 'unknown/notification' });
    await client.closed;
  });

  it('refuses a sandbox that it would not enforce', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    const { error } = await client.call('process/start', laterStart('s', 'true', { sandbox: { mode: 'strict' } }));
    expect(error).toMatchObject({ code: -32600, message: expect.stringContaining('sandbox') });
    expect(await client.call('process/start', laterStart('s', 'true', { sandbox: null }))).toHaveProperty('result');
  });

  it('lists, waits, ends politely, and ends what takes too long', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    const script = 'trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.05; done';
    await client.call('process/start', laterStart('g', script));
    await client.shows('g', 'up');
    expect((await client.call('process/list')).result.processes).toMatchObject([{ processId: 'g', running: true }]);
    const waiting = client.call('process/wait', { processId: 'g' });
    expect((await client.call('process/wait', { processId: 'g', waitMs: 1 })).result).toMatchObject({ exited: false });
    expect((await client.call('process/terminate', { processId: 'g', graceMs: 5_000 })).result).toEqual({
      running: true,
    });
    expect((await waiting).result).toMatchObject({ exited: true, exitCode: 0 });
    expect(client.output('g')).toContain('bye');
    await client.call('process/start', laterStart('t', 'exec sleep 60', { timeoutMs: 50 }));
    expect((await client.notification('process/exited', 't')).params).toMatchObject({ exitCode: 143, timedOut: true });
  });

  it('announces what a grandchild writes after the exit, and closes after it', async () => {
    const client = await connectTo(kind, server);
    await client.later();
    await client.call('process/start', laterStart('g', '(sleep 0.3; echo late) & echo now'));
    await client.notification('process/closed', 'g');
    const kinds = client.received
      .filter((message) => message.params?.processId === 'g')
      .map((message) => message.method);
    expect(kinds).toEqual(['process/output', 'process/exited', 'process/output', 'process/closed']);
    expect(client.output('g')).toBe('now\nlate\n');
  });
});
