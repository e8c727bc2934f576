import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { base64, connectTo, KINDS, sharedServer, start } from './raw-client.js';

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-first-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const server = sharedServer();

const VIOLATIONS: readonly (readonly [string, RegExp])[] = [
  ['not json', /malformed.*JSON/],
  ['{"method":"process/list"}', /notification/],
  ['[]', /object/],
  ['{"id":null,"method":"process/list"}', /id/],
  ['{"id":1.5,"method":"process/list"}', /id/],
  ['{"id":1e300,"method":"process/list"}', /id/],
  ['{"id":1,"id":2,"method":"process/list"}', /twice/],
  ['{"id":9,"result":{}}', /response/],
  ['{"id":9,"error":{"code":1,"message":"x"}}', /response/],
  ['{"id":9}', /method/],
];

describe.each(KINDS)('the first dialect over %s', (kind) => {
  it('plays the example session of the specification', async () => {
    const client = await connectTo(kind, server);
    client.sendText('{"id":1,"method":"initialize","params":{"clientName":"example-client"}}');
    expect(await client.until((message) => message.id === 1)).toEqual({ id: 1, result: {} });
    client.sendText('{"method":"initialized","params":{}}');
    client.sendText(
      '{"id":2,"method":"process/start","params":{"processId":"proc-1","argv":["bash","-lc","printf \'ready\\\\n\'; while IFS= read -r line; do printf \'echo:%s\\\\n\' \\"$line\\"; done"],"cwd":"/tmp","env":{"PATH":"/usr/bin:/bin"},"tty":true,"arg0":null}}',
    );
    expect(await client.until((message) => message.id === 2)).toEqual({ id: 2, result: { processId: 'proc-1' } });
    // A real terminal ends lines with CR LF and echoes what is typed.
    await client.shows('proc-1', 'ready\r\n');
    client.sendText('{"id":3,"method":"process/write","params":{"processId":"proc-1","chunk":"aGVsbG8K"}}');
    expect(await client.until((message) => message.id === 3)).toEqual({ id: 3, result: { accepted: true } });
    await client.shows('proc-1', 'echo:hello\r\n');
    client.sendText('{"id":4,"method":"process/terminate","params":{"processId":"proc-1"}}');
    expect(await client.until((message) => message.id === 4)).toEqual({ id: 4, result: { running: true } });
    expect(await client.notification('process/exited', 'proc-1')).toEqual({
      method: 'process/exited',
      params: { processId: 'proc-1', exitCode: 137 },
    });
    for (const message of client.received) expect(message).not.toHaveProperty('jsonrpc');
  });

  it('answers every row of its table of errors', async () => {
    const client = await connectTo(kind, server);
    const refused = async (method: string, params: unknown, code: number, message: RegExp) => {
      const answer = await client.call(method, params);
      expect(answer.error, `${method} ${JSON.stringify(params).slice(0, 80)}`).toEqual({
        code,
        message: expect.stringMatching(message),
      });
    };
    await refused('nope/nope', {}, -32600, /^unknown method: nope\/nope$/);
    await refused('process/start', start('a', 'true'), -32600, /before initialize$/);
    await refused('process/start', {}, -32602, /processId/);
    await refused('initialize', {}, -32602, /clientName/);
    expect(await client.call('initialize', { clientName: 'x' })).toHaveProperty('result', {});
    await refused('process/read', { processId: 'a' }, -32600, /before initialized$/);
    await refused('initialize', { clientName: 'x' }, -32600, /once/);
    client.send({ method: 'initialized', params: {} });
    for (const method of ['fs/readFile', 'environment/info', 'http/request', 'process/signal']) {
      await refused(method, {}, -32600, /^unknown method/);
    }
    await refused('process/start', start('a', 'true', { argv: 'true' }), -32602, /argv/);
    await refused('process/start', start('a', 'true', { argv: ['true', 5] }), -32602, /argv\[1\]/);
    await refused('process/start', start('a', 'true', { env: { A: 1 } }), -32602, /env\.A/);
    await refused('process/start', start('a', 'true', { tty: 'yes' }), -32602, /tty/);
    await refused('process/start', start('a', 'true', { cwd: 'tmp' }), -32602, /cwd/);
    await refused('process/start', start('a', 'true', { cwd: 'file:///tmp' }), -32602, /cwd/);
    await refused('process/start', [], -32602, /params/);
    await refused('process/start', start('a', '', { argv: [] }), -32602, /^argv must not be empty$/);
    await refused('process/start', start('a', '', { argv: ['tr\0ue'] }), -32602, /argv\[0\].*NUL/);
    await refused('process/start', start('a', '', { argv: ['no-such-program'] }), -32603, /no such file/i);
    await refused('process/start', start('a', 'true', { cwd: '/no/such/folder' }), -32603, /no such file/i);
    // The id was not taken by any of these.
    expect(await client.call('process/start', start('a', 'sleep 60'))).toHaveProperty('result', { processId: 'a' });
    await refused('process/start', start('a', 'true'), -32600, /already exists/);
    await refused('process/start', start('a', '', { argv: [] }), -32600, /already exists/);
    await refused('process/write', { processId: 'a', chunk: base64('x') }, -32600, /stdin is closed/);
    await refused('process/write', { processId: 'zz', chunk: base64('x') }, -32600, /unknown process/);
    for (const chunk of ['!', 'YQ', 'YQ==\n', 'Y Q=', 5]) {
      await refused('process/write', { processId: 'a', chunk }, -32602, /chunk/);
    }
    await refused('process/read', { processId: 'zz' }, -32600, /unknown process/);
    for (const afterSeq of [-1, 1.5, '1'])
      await refused('process/read', { processId: 'a', afterSeq }, -32602, /afterSeq/);
    expect(await client.call('process/terminate', { processId: 'zz' })).toHaveProperty('result', { running: false });
    expect(await client.call('process/terminate', { processId: 'a' })).toHaveProperty('result', { running: true });
    await client.notification('process/exited', 'a');
    expect(await client.call('process/terminate', { processId: 'a' })).toHaveProperty('result', { running: false });
  });

  it.each(VIOLATIONS)('ends the connection and its processes on %s, and says why', async (text, reason) => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('a', 'echo $$; exec sleep 60'));
    const pid = Number(await client.shows('a', '\n'));
    client.sendText(text);
    const closeReason = await client.closed;
    await expect.poll(() => client.server?.stderr()).toMatch(reason);
    if (kind === 'websocket') expect(closeReason).toMatch(reason);
    else expect(await client.server?.exited).toBe(0);
    await expect.poll(() => alive(pid), { timeout: 30_000 }).toBe(false);
  });

  it('ends the connection when initialized comes before initialize', async () => {
    const client = await connectTo(kind, server);
    client.send({ method: 'initialized' });
    await client.closed;
    await expect.poll(() => client.server?.stderr()).toMatch(/before initialize/);
  });

  it('keeps the order: start, all output, exit', async () => {
    const client = await (await connectTo(kind, server)).first();
    for (let round = 0; round < 20; round += 1) {
      const id = `p${round}`;
      void client.call('process/start', start(id, 'seq 1 2000; echo err >&2; exit 3'));
      await client.notification('process/exited', id);
      const about = client.received.filter((message) => (message.params ?? message.result)?.processId === id);
      expect(about[0]).toHaveProperty('result.processId', id);
      expect(about.at(-1)).toEqual({ method: 'process/exited', params: { processId: id, exitCode: 3 } });
      expect(client.output(id).match(/\n/g)).toHaveLength(2_001);
      for (const message of about.slice(1, -1)) {
        expect(Object.keys(message.params).sort()).toEqual(['chunk', 'processId', 'stream']);
      }
    }
  });

  it('takes what is asked of a process before its start was answered', async () => {
    const client = await (await connectTo(kind, server)).first();
    const params = {
      processId: 'p',
      argv: ['cat'],
      cwd: '/tmp',
      env: { PATH: '/usr/bin:/bin' },
      tty: true,
      arg0: null,
    };
    const started = client.call('process/start', params);
    const others = [
      client.call('process/resize', { processId: 'p', rows: 30, cols: 90 }),
      client.call('process/write', { processId: 'p', chunk: base64('typed\n') }),
      client.call('process/closeStdin', { processId: 'p' }),
    ];
    expect((await started).result).toEqual({ processId: 'p' });
    for (const answer of await Promise.all(others)) expect(answer).not.toHaveProperty('error');
    expect((await client.notification('process/exited', 'p')).params.exitCode).toBe(0);
    expect(client.output('p')).toContain('typed');
  });

  it('does not wait for a grandchild that holds the pipe, and keeps what it writes later', async () => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('g', '(sleep 0.5; echo late) & echo now'));
    await client.notification('process/exited', 'g');
    expect(client.output('g')).toBe('now\n');
    const late = await client.call('process/read', { processId: 'g', afterSeq: 1 });
    expect(late.result).toMatchObject({ exited: true, exitCode: 0 });
    await expect
      .poll(async () => (await client.call('process/read', { processId: 'g', afterSeq: 1 })).result.chunks.length)
      .toBe(1);
    expect(client.received.at(-1).id).toBeDefined();
  });

  it('reads retained output by number, and waits for it without holding up others', async () => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('r', 'printf one; read x; printf two; read y', { tty: true }));
    await client.shows('r', 'one');
    const first = await client.call('process/read', { processId: 'r', afterSeq: 0, maxBytes: 65_536, waitMs: 250 });
    expect(first.result).toEqual({
      chunks: [{ seq: 1, stream: 'pty', chunk: base64('one') }],
      nextSeq: 2,
      exited: false,
      exitCode: null,
    });
    const empty = await client.call('process/read', { processId: 'r', afterSeq: 1, waitMs: 20 });
    expect(empty.result).toMatchObject({ chunks: [], nextSeq: 2 });
    const future = await client.call('process/read', { processId: 'r', afterSeq: 1e9 });
    expect(future.result).toMatchObject({ chunks: [], nextSeq: 2 });
    const poll = client.call('process/read', { processId: 'r', afterSeq: 1, waitMs: 1e9 });
    expect(await client.call('process/terminate', { processId: 'zz' })).toHaveProperty('result.running', false);
    await client.call('process/write', { processId: 'r', chunk: base64('\n') });
    expect((await poll).result.chunks.length).toBeGreaterThan(0);
  });

  it('keeps the newest 1 MiB in whole chunks of at most 8,192 bytes and says when some are gone', async () => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('big', 'head -c 3000000 /dev/zero'));
    await client.notification('process/exited', 'big');
    const sizes = client.received
      .filter((message) => message.method === 'process/output')
      .map((message) => Buffer.from(message.params.chunk, 'base64').length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8_192);
    expect(sizes.reduce((total, size) => total + size, 0)).toBe(3_000_000);
    const { result } = await client.call('process/read', { processId: 'big', afterSeq: 0, maxBytes: 0 });
    expect(result.chunks).toHaveLength(1);
    expect(result).toMatchObject({
      truncated: true,
      firstSeq: result.chunks[0].seq,
      nextSeq: result.chunks[0].seq + 1,
    });
    const rest = await client.call('process/read', { processId: 'big', afterSeq: result.chunks[0].seq });
    expect(rest.result).not.toHaveProperty('truncated');
    const kept = rest.result.chunks.reduce(
      (total: number, { chunk }: { chunk: string }) => total + Buffer.from(chunk, 'base64').length,
      0,
    );
    expect(kept).toBeGreaterThan(1024 * 1024 - 3 * 8_192);
    expect(kept).toBeLessThanOrEqual(1024 * 1024);
  });

  it('gives exactly the environment that was sent, /dev/null as input, and a terminal of 24 by 80', async () => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('e', '', { argv: ['/usr/bin/env'], env: { A: '1', LD_X: 'y' } }));
    await client.notification('process/exited', 'e');
    expect(client.output('e').split('\n').sort().join(' ').trim()).toBe('A=1 LD_X=y');
    await client.call('process/start', start('n', 'readlink /proc/self/fd/0'));
    await client.notification('process/exited', 'n');
    expect(client.output('n')).toBe('/dev/null\n');
    await client.call('process/start', start('t', 'stty size', { tty: true }));
    await client.notification('process/exited', 't');
    expect(client.output('t')).toBe('24 80\r\n');
  });

  it('renames argv[0] for pipes and terminals without changing which program runs', async () => {
    const client = await (await connectTo(kind, server)).first();
    for (const tty of [false, true]) {
      const id = `a${tty}`;
      const argv = ['bash', '-c', 'echo $0; tr "\\0" " " < /proc/$$/cmdline'];
      await client.call('process/start', start(id, '', { argv, tty, arg0: 'renamed' }));
      await client.notification('process/exited', id);
      expect(client.output(id)).toContain('renamed -c');
    }
  });

  it('reports 128 + signal for a process that a signal ended', async () => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('k', 'kill -TERM $$'));
    expect((await client.notification('process/exited', 'k')).params.exitCode).toBe(143);
  });

  it('refuses programs that cannot run: a folder, no permission, no interpreter', async () => {
    const folder = scratch();
    mkdirSync(join(folder, 'dir'));
    writeFileSync(join(folder, 'plain'), 'echo', { mode: 0o644 });
    writeFileSync(join(folder, 'script'), '#!/no/such/interpreter\n', { mode: 0o755 });
    const client = await (await connectTo(kind, server)).first();
    for (const tty of [false, true]) {
      for (const name of ['dir', 'plain', 'script']) {
        const answer = await client.call('process/start', start('x', '', { argv: [join(folder, name)], tty }));
        expect(answer.error).toMatchObject({ code: -32603, message: expect.stringMatching(/cannot start/) });
      }
    }
    const huge = await client.call('process/start', start('x', '', { argv: ['true', 'x'.repeat(2_000_000)] }));
    expect(huge.error).toMatchObject({ code: -32603, message: expect.stringMatching(/too long/) });
  });

  it('takes an environment of 10,000 entries, and a terminal of any size but zero', async () => {
    const client = await (await connectTo(kind, server)).first();
    const env = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`V${index}`, 'x']));
    await client.call('process/start', start('e', '', { argv: ['/usr/bin/env'], env: { ...env, __proto__x: '1' } }));
    await client.notification('process/exited', 'e');
    expect(client.output('e').match(/\n/g)).toHaveLength(10_001);
    for (const size of [
      { rows: 0, cols: 80 },
      { rows: 24, cols: 70_000 },
    ]) {
      const answer = await client.call('process/start', start('z', 'true', { tty: true, size }));
      expect(answer.error.code).toBe(-32602);
    }
    await client.call(
      'process/start',
      start('t', 'stty size; read x; stty size', { tty: true, size: { rows: 5, cols: 9 } }),
    );
    await client.shows('t', '5 9');
    for (const size of [
      { rows: 0, cols: 1 },
      { rows: -1, cols: 1 },
      { rows: 1, cols: 65_536 },
    ]) {
      expect((await client.call('process/resize', { processId: 't', ...size })).error.code).toBe(-32602);
    }
    expect(await client.call('process/resize', { processId: 't', rows: 65_535, cols: 7 })).toHaveProperty('result', {});
    await client.call('process/write', { processId: 't', chunk: base64('\n') });
    await client.shows('t', '65535 7');
  });

  it('runs on when a working folder vanishes under a process', async () => {
    const folder = scratch();
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('v', 'echo up; read x; echo done', { cwd: folder, tty: true }));
    await client.shows('v', 'up');
    rmSync(folder, { recursive: true });
    await client.call('process/write', { processId: 'v', chunk: base64('\n') });
    expect((await client.notification('process/exited', 'v')).params.exitCode).toBe(0);
    expect((await client.call('process/start', start('w', 'true', { cwd: folder }))).error.code).toBe(-32603);
  });
});

function alive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
