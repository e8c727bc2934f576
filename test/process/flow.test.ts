import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { base64, builtServer, connect, laterStart, type Message, PATH } from './raw-client.js';

const MIB = 1024 * 1024;

/** A program that writes bytes which nobody can guess, and on standard error their digest. */
const random = (bytes: number, more = '') => [
  process.execPath,
  '-e',
  `${more}const c=require('crypto'),h=c.createHash('sha256');let left=${bytes};
const next=()=>{while(left>0){const b=c.randomBytes(Math.min(left,65536));left-=b.length;h.update(b);if(!process.stdout.write(b))return process.stdout.once('drain',next)}
require('fs').writeFileSync(process.argv[1],h.digest('hex'))};next()`,
];

const memory = (pid: number | undefined): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

describe.each(['pipe', 'terminal'])('bytes over a %s', (stdio) => {
  it('arrive intact: 64 MiB, to a client that stops and goes', async () => {
    const { child } = await builtServer();
    const { stdin, stdout } = child;
    const send = (message: Message): void => void stdin?.write(`${JSON.stringify(message)}\n`);
    const digestFile = `/tmp/sallyport-digest-${process.pid}-${stdio}`;
    onTestFinished(() => rmSync(digestFile, { force: true }));
    const hash = createHash('sha256');
    let bytes = 0;
    let seq = 0;
    let pauses = 0;
    const lines = createInterface({ input: stdout as NodeJS.ReadableStream });
    const closed = new Promise<void>((resolve, reject) => {
      lines.on('line', (line) => {
        const { method, params } = JSON.parse(line);
        if (method === undefined) return;
        if (params.seq !== seq + 1) reject(new Error(`${params.seq} came after ${seq}`));
        seq = params.seq;
        if (method === 'process/closed') resolve();
        if (method !== 'process/output') return;
        const chunk = Buffer.from(params.chunk, 'base64');
        bytes += chunk.length;
        hash.update(chunk);
        if (bytes > (pauses + 1) * 8 * MIB) {
          pauses += 1;
          lines.pause();
          setTimeout(() => lines.resume(), 20);
        }
      });
    });
    send({ id: 1, method: 'initialize', params: { clientName: 'x', resumeSessionId: null } });
    send({ method: 'initialized' });
    const argv = [...random(64 * MIB), digestFile];
    const raw = ['sh', '-c', 'stty raw -echo && exec "$@"', 'sh', ...argv];
    const more = stdio === 'pipe' ? { argv } : { argv: raw, tty: true };
    send({ id: 2, method: 'process/start', params: laterStart('r', '', more) });
    await closed;
    expect(bytes).toBe(64 * MIB);
    expect(hash.digest('hex')).toBe(readFileSync(digestFile, 'utf8'));
  });
});

describe('16 processes at once', () => {
  it.each(['stdio', 'websocket'] as const)(
    'each get all of their output across, over %s',
    async (kind) => {
      const client = await connect(kind);
      await client.later();
      const ids = Array.from({ length: 16 }, (_, index) => `p${index}`);
      const tty = (index: number): boolean => index % 4 === 0;
      await Promise.all(
        ids.map((id, index) =>
          client.call(
            'process/start',
            laterStart(id, `seq ${index * 1e6} ${index * 1e6 + 99_999}`, { tty: tty(index) }),
          ),
        ),
      );
      await Promise.all(ids.map((id) => client.notification('process/closed', id)));
      for (const [index, id] of ids.entries()) {
        const lines = client.output(id).trim().split(/\r?\n/);
        expect(lines).toHaveLength(100_000);
        expect([lines[0], lines.at(-1)]).toEqual([String(index * 1e6), String(index * 1e6 + 99_999)]);
      }
    },
    60_000,
  );
});

describe('a client that stops reading', () => {
  it('stops the child and bounds the memory of the server; control requests are answered as soon as it reads', async () => {
    const server = await builtServer(['--listen', 'ws://127.0.0.1:0']);
    const socket = new WebSocket(server.url);
    await new Promise((resolve) => socket.once('open', resolve));
    const answers: Message[] = [];
    let bytes = 0;
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      if (message.method === 'process/output') bytes += message.params.chunk.length;
      else answers.push(message);
    });
    const send = (message: Message): void => socket.send(JSON.stringify(message));
    send({ id: 1, method: 'initialize', params: { clientName: 'x', resumeSessionId: null } });
    send({ method: 'initialized' });
    await expect.poll(() => answers.length).toBe(1);
    const idle = memory(server.child.pid);
    for (let index = 0; index < 8; index += 1)
      send({ id: 10 + index, method: 'process/start', params: laterStart(`y${index}`, 'exec yes') });
    await expect.poll(() => bytes).toBeGreaterThan(MIB);
    socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const held = memory(server.child.pid);
    expect(held - idle).toBeLessThan(64 * MIB);
    // The children wait for the pipe: their processor time stands still.
    const pids = readFileSync(`/proc/${server.child.pid}/task/${server.child.pid}/children`, 'utf8').trim().split(' ');
    const ticks = (): number[] =>
      pids.map((pid) => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[11]));
    const before = ticks();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(ticks()).toEqual(before);
    for (let index = 0; index < 8; index += 1)
      send({ id: 20 + index, method: 'process/terminate', params: { processId: `y${index}` } });
    // They are carried out while nobody reads.
    const running = (): boolean =>
      pids.some((pid) => {
        try {
          return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'yes\n';
        } catch {
          return false;
        }
      });
    await expect.poll(running).toBe(false);
    socket.resume();
    await expect.poll(() => answers.filter(({ method }) => method === 'process/closed').length).toBe(8);
    socket.terminate();
  });

  it('over a pipe does not hold up what it asks for', async () => {
    const { child, stderr } = await builtServer();
    const send = (message: Message): void => void child.stdin?.write(`${JSON.stringify(message)}\n`);
    let bytes = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    send({ id: 1, method: 'initialize', params: { clientName: 'x', resumeSessionId: null } });
    send({ method: 'initialized' });
    send({ id: 2, method: 'process/start', params: laterStart('y', 'exec yes') });
    for (let id = 100; id < 150; id += 1) send({ id, method: 'process/wait', params: { processId: 'y' } });
    await expect.poll(() => bytes).toBeGreaterThan(MIB / 4);
    child.stdout?.pause();
    const children = (): string[] =>
      readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
    expect(children()).toHaveLength(2);
    send({ id: 3, method: 'process/terminate', params: { processId: 'y' } });
    await expect.poll(children).toHaveLength(1);
    expect(stderr()).toBe('');
  });

  it('that reads on never makes the server grow: yes for 10 s, with other requests answered meanwhile', async () => {
    const { child } = await builtServer();
    let bytes = 0;
    const answers = new Map<number, number>();
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      if (line.startsWith('{"method":"process/output"')) bytes += line.length;
      else answers.set(JSON.parse(line).id, performance.now());
    });
    const send = (message: Message): void => void child.stdin?.write(`${JSON.stringify(message)}\n`);
    send({ id: 1, method: 'initialize', params: { clientName: 'x', resumeSessionId: null } });
    send({ method: 'initialized' });
    await expect.poll(() => answers.size).toBe(1);
    const idle = memory(child.pid);
    send({ id: 2, method: 'process/start', params: laterStart('y', 'exec yes') });
    send({ id: 3, method: 'process/start', params: laterStart('c', 'exec cat', { pipeStdin: true }) });
    let worst = 0;
    let peak = 0;
    for (let round = 0; round < 100; round += 1) {
      const asked = performance.now();
      const id = 100 + round;
      send({ id, method: 'process/write', params: { processId: 'c', writeId: String(id), chunk: base64('x') } });
      await expect.poll(() => answers.has(id), { interval: 5 }).toBe(true);
      worst = Math.max(worst, (answers.get(id) ?? 0) - asked);
      peak = Math.max(peak, memory(child.pid));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(bytes).toBeGreaterThan(10 * MIB);
    expect(worst).toBeLessThan(15_000);
    expect(peak - idle).toBeLessThan(64 * MIB);
  });
});

describe('input', () => {
  it('that a child does not read is bounded, and refused beyond that', async () => {
    const client = await connect('stdio');
    await client.later();
    await client.call('process/start', laterStart('s', 'exec sleep 60', { pipeStdin: true }));
    const chunk = Buffer.alloc(3 * MIB).toString('base64');
    const answers: Message[] = [];
    for (let index = 0; index < 6; index += 1) {
      answers.push(await client.call('process/write', { processId: 's', writeId: `w${index}`, chunk }));
    }
    expect(answers[0].result).toEqual({ status: 'accepted' });
    expect(answers.at(-1).error).toMatchObject({ code: -32600, message: expect.stringContaining('does not read') });
    expect((await client.call('process/terminate', { processId: 's' })).result).toEqual({ running: true });
  });

  it('of a megabyte reaches a program behind a terminal', async () => {
    const client = await connect('stdio');
    await client.later();
    const argv = ['sh', '-c', 'stty raw -echo; echo ready; head -c 1000000 | wc -c'];
    await client.call('process/start', laterStart('t', '', { argv, tty: true, env: { PATH } }));
    await client.shows('t', 'ready');
    const chunk = Buffer.alloc(1_000_000, 'x').toString('base64');
    expect((await client.call('process/write', { processId: 't', writeId: 'w', chunk })).result.status).toBe(
      'accepted',
    );
    await client.shows('t', '1000000');
  });
});
