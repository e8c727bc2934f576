import { describe, expect, it } from 'vitest';
import { createSpawner } from '../../src/sandbox/index.js';
import { builtServer } from '../process/raw-client.js';
import { SALLYPORT, sallyport } from './command.js';

describe('sallyport exec', () => {
  it('runs a command and ends with its exit code', async () => {
    const result = await sallyport([
      'exec',
      '--env',
      'A=1 2',
      '--cwd',
      '/tmp',
      '--',
      'sh',
      '-c',
      'echo $A; pwd; echo err >&2; exit 7',
    ]);
    expect(result).toMatchObject({ code: 7, stdout: '1 2\n/tmp\n', stderr: 'err\n' });
  });

  it('hands its input to the command', async () => {
    expect(await sallyport(['exec', '--', 'cat'], { input: 'hello\n' })).toMatchObject({ code: 0, stdout: 'hello\n' });
    const big = 'x'.repeat(3_000_000);
    expect((await sallyport(['exec', '--', 'wc', '-c'], { input: big })).stdout.trim()).toBe('3000000');
  });

  it('ends a command whose time is up with exit code 124', async () => {
    const result = await sallyport(['exec', '--timeout', '100ms', '--', 'sleep', '60']);
    expect(result).toMatchObject({ code: 124, stderr: expect.stringContaining('100 ms') });
  });

  it('says in one line what it cannot do', async () => {
    const missing = await sallyport(['exec', '--', 'no-such-program']);
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/^sallyport: .*no such file.*\n$/) });
    expect((await sallyport(['exec'])).code).toBe(2);
    expect(await sallyport(['exec', '--timeout', 'soon', '--', 'true'])).toMatchObject({ code: 2 });
    expect(await sallyport(['exec', '--url', 'ws://127.0.0.1:1', '--', 'true'])).toMatchObject({ code: 1 });
  });

  it('runs on a server with --url', async () => {
    const server = await builtServer(['--listen', 'ws://127.0.0.1:0'], { EXECUTOR_API_KEY: 'k' });
    const env = { PATH: process.env['PATH'] ?? '', EXECUTOR_API_KEY: 'k' };
    const result = await sallyport(['exec', '--url', server.url, '--', 'sh', '-c', 'echo there; exit 3'], { env });
    expect(result).toMatchObject({ code: 3, stdout: 'there\n', stderr: '' });
    expect((await sallyport(['exec', '--url', server.url, '--', 'true'])).code).toBe(1);
  });

  it('gives a real terminal with --tty: its size, resizes, Ctrl-C for the command, and a restored mode', async () => {
    const spawner = createSpawner();
    const script = 'trap "echo INT" INT; trap "stty size" WINCH; stty size; echo up; while :; do sleep 0.05; done';
    const child = await spawner.spawn({
      argv: [
        'sh',
        '-c',
        `"$@"; echo code $?; stty -a | grep -o -- '-\\?icanon'`,
        'sh',
        process.execPath,
        SALLYPORT,
        'exec',
        '--tty',
        '--',
        'sh',
        '-c',
        script,
      ],
      cwd: '/tmp',
      env: { PATH: process.env['PATH'] ?? '', TERM: 'xterm' },
      stdio: { kind: 'terminal', rows: 30, cols: 100 },
      level: 'process',
    });
    let text = '';
    child.outputs[0]?.onData((chunk) => {
      text += chunk;
    });
    await expect.poll(() => text).toContain('30 100\r\nup');
    await child.input?.write(Buffer.from('\x03'));
    await expect.poll(() => text).toContain('INT');
    child.resize({ rows: 31, cols: 101 });
    await expect.poll(() => text).toContain('31 101');
    await child.input?.write(Buffer.from('\x1c'));
    await expect.poll(() => text).toMatch(/code 131[\s\S]*icanon/);
    expect(text).not.toContain('-icanon');
    await spawner.dispose();
  });
});

describe('sallyport exec-server', () => {
  it('refuses any other address with exit code 1 and says what it expected', async () => {
    for (const listen of ['ws://localhost:1', 'http://127.0.0.1:1', 'nope', 'ws://127.0.0.1']) {
      const result = await sallyport(['exec-server', '--listen', listen]);
      expect(result, listen).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('ws://IP:PORT') });
    }
  });

  it('refuses an address that others can reach without a token, and a port that is taken', async () => {
    const open = await sallyport(['exec-server', '--listen', 'ws://0.0.0.0:0']);
    expect(open).toMatchObject({ code: 1, stderr: expect.stringContaining('EXECUTOR_API_KEY') });
    const server = await builtServer(['--listen', 'ws://127.0.0.1:0']);
    expect(server.stderr()).toMatch(/^.* listening on ws:\/\/127\.0\.0\.1:\d+\n$/);
    const taken = await sallyport(['exec-server', '--listen', server.url]);
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining('taken') });
  });

  it('ends with exit code 0 at the end of its input', async () => {
    expect(await sallyport(['exec-server'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
    expect(await sallyport(['exec-server', '--listen', 'stdio://'])).toMatchObject({ code: 0 });
  });
});
