import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SALLYPORT, sallyport } from './command.js';

const MODULES = fileURLToPath(new URL('../../examples/wasm/c', import.meta.url));
const KEY = 'a-key-that-is-long-enough';
const PATH = process.env['PATH'] ?? '';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'sallyport-serve-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

interface Line {
  readonly msg: string;
  readonly [field: string]: unknown;
}

interface Served {
  readonly url: string;
  readonly child: ChildProcess;
  readonly lines: Line[];
  readonly exited: Promise<number | null>;
  /** Resolves with the first line that fits, also an earlier one. */
  line(fits: (line: Line) => boolean): Promise<Line>;
}

/** Starts the built command and waits for its address. */
async function serve(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Served> {
  const child = spawn(process.execPath, [SALLYPORT, 'serve', '--port', '0', '--cache-dir', folder(), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH, ...env },
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  const lines: Line[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part));
    for (const look of [...waiting]) look();
  });
  const exited = once(child, 'exit').then(([code]) => code);
  const line = (fits: (line: Line) => boolean): Promise<Line> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.find(fits);
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      void exited.then((code) => reject(new Error(`ended with ${code}: ${JSON.stringify(lines)}`)));
      look();
    });
  const listening = await line(({ msg }) => msg === 'listening');
  return { url: String(listening['url']), child, lines, exited, line };
}

async function run(
  url: string,
  code: string,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) {
  const response = await fetch(`${url}/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ code, ...more }),
  });
  return response.json();
}

/** Every process whose ancestors include this one. */
function descendants(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]));
    } catch {
      // Gone meanwhile.
    }
  }
  const found = [root];
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found.slice(1);
}

const alive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return false;
  }
};

describe('sallyport serve', () => {
  it('serves all boundaries, logs JSON lines, and drains at SIGTERM', async () => {
    const tools = join(folder(), 'tools.mjs');
    writeFileSync(
      tools,
      `import { defineTools } from 'sallyport/capabilities';\nexport default defineTools('math', { twice: (n) => n * 2 });\n`,
    );
    const { url, child, line, exited } = await serve(['--tools', tools, '--wasm', MODULES]);
    expect(await run(url, 'return await math.twice(21)')).toMatchObject({ ok: true, result: 42 });
    const wasm = await fetch(`${url}/wasm/guest/add`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '[1, 2]',
    });
    expect(await wasm.json()).toMatchObject({ ok: true, result: 3 });
    const ended = await line((entry) => entry['audit'] === 'ended' && entry['kind'] === 'guest');
    expect(ended).toMatchObject({ status: 'succeeded', by: { address: '127.0.0.1' }, capabilityCounts: { tool: 1 } });
    const slow = run(url, 'await new Promise((r) => setTimeout(r, 400)); return 1');
    await line(
      (entry) =>
        entry['audit'] === 'started' && entry['executionId'] !== ended['executionId'] && entry['kind'] === 'guest',
    );
    child.kill('SIGTERM');
    expect(await slow).toMatchObject({ ok: true });
    expect(await exited).toBe(0);
  });

  it('ends at once at a second signal, and leaves no child when it is killed', async () => {
    for (const [first, second] of [
      ['SIGTERM', 'SIGTERM'],
      ['SIGKILL', undefined],
    ] as const) {
      const { url, child, line, exited } = await serve();
      const hanging = run(url, 'await new Promise(() => {})', { timeoutMs: 600_000 }).catch(() => 'cut off');
      await line((entry) => entry['audit'] === 'started');
      const children = descendants(child.pid!);
      expect(children.length).toBeGreaterThan(0);
      child.kill(first);
      if (second !== undefined) {
        await line(({ msg }) => msg === 'draining');
        child.kill(second);
      }
      expect(await exited).not.toBe(0);
      expect(await hanging).toBe('cut off');
      await expect.poll(() => children.filter(alive)).toEqual([]);
    }
  });

  it('answers the first request within the time that people notice', async () => {
    const times: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const from = performance.now();
      const { url, child, exited } = await serve();
      expect((await fetch(`${url}/health`)).status).toBe(200);
      times.push(performance.now() - from);
      child.kill('SIGKILL');
      await exited;
    }
    // Generous: tests run beside each other. `bench/serve.mjs` measures it.
    expect(Math.min(...times)).toBeLessThan(5_000);
  });

  it('never writes its key, whatever is sent', async () => {
    const { url, child, lines, exited } = await serve([], { EXECUTOR_API_KEY: KEY });
    const headers = { authorization: `Bearer ${KEY}` };
    await fetch(`${url}/executions?token=${KEY}`);
    await fetch(`${url}/executions?token=${KEY}`, { headers });
    expect(await run(url, `throw new Error("${KEY}")`, {}, headers)).toMatchObject({ ok: false });
    await run(url, 'return 1', {}, { authorization: `Bearer ${KEY}x` });
    child.kill('SIGTERM');
    await exited;
    expect(lines.some(({ msg }) => msg === 'request')).toBe(true);
    expect(JSON.stringify(lines)).not.toContain(KEY);
  });

  it('reads keys again at SIGHUP, and keeps the old ones when it cannot', async () => {
    const made = async (name: string): Promise<{ key: string; entry: object }> =>
      JSON.parse((await sallyport(['key', 'create', name, '--json'])).stdout);
    const [one, two] = [await made('one'), await made('two')];
    const config = join(folder(), 'sallyport.json');
    writeFileSync(config, JSON.stringify({ keys: [one.entry] }));
    const { url, child, line } = await serve(['--config', config]);
    const status = async (key: string): Promise<number> =>
      (await fetch(`${url}/executions`, { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await status(one.key)).toBe(200);
    expect(await status(two.key)).toBe(401);
    writeFileSync(config, JSON.stringify({ keys: [two.entry] }));
    child.kill('SIGHUP');
    await line(({ msg }) => msg === 'keys and limits were read again');
    expect(await status(one.key)).toBe(401);
    expect(await status(two.key)).toBe(200);
    writeFileSync(config, '{');
    child.kill('SIGHUP');
    await line(({ msg }) => msg === 'reload failed');
    expect(await status(two.key)).toBe(200);
  });

  it('keeps its keys at SIGHUP when others can reach it and none would be left, or one cannot be a key', async () => {
    const { key, entry } = JSON.parse((await sallyport(['key', 'create', 'one', '--json'])).stdout);
    const config = join(folder(), 'sallyport.json');
    writeFileSync(config, JSON.stringify({ keys: [entry] }));
    const { url, child, lines, line } = await serve(['--config', config, '--host', '0.0.0.0']);
    const executions = `${url.replace('0.0.0.0', '127.0.0.1')}/executions`;
    const failures = () => lines.filter(({ msg }) => msg === 'reload failed').length;
    writeFileSync(config, '{}');
    child.kill('SIGHUP');
    const failed = await line(({ msg }) => msg === 'reload failed');
    expect(failed['reason']).toContain('0.0.0.0 can be reached by others');
    writeFileSync(config, JSON.stringify({ apiKey: 'short' }));
    child.kill('SIGHUP');
    await expect.poll(failures).toBe(2);
    expect((await fetch(executions)).status).toBe(401);
    expect((await fetch(executions, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
  });

  it('reads a module as its configuration, and prints where each setting came from', async () => {
    const config = join(folder(), 'sallyport.config.ts');
    writeFileSync(
      config,
      `import { defineConfig } from 'sallyport/server';\nconst port: number = 1;\nexport default defineConfig({ port, logLevel: 'warn', apiKey: '${KEY}' });\n`,
    );
    const { code, stdout } = await sallyport(['serve', '--config', config, '--print-config', '--host', '127.0.0.2'], {
      env: { PATH, SALLYPORT_PORT: '2' },
    });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      port: { value: 2, from: 'environment SALLYPORT_PORT' },
      host: { value: '127.0.0.2', from: 'flag --host' },
      logLevel: { value: 'warn', from: `file ${config}` },
      isolation: { value: 'auto', from: 'default' },
      apiKey: { value: '(set)' },
    });
    expect(stdout).not.toContain(KEY);
  });

  it('shows a banner on a terminal, whose commands work when they are pasted', async () => {
    const cache = folder();
    const client = await sallyportOnTerminal(['serve', '--port', '0', '--cache-dir', cache]);
    expect(client.text).toMatch(/listens on http:\/\/127\.0\.0\.1:\d+/);
    for (const kind of ['guest', 'wasm', 'tool', 'process']) expect(client.text).toContain(`  ${kind}`);
    expect(client.text).toContain('not needed');
    const commands = [...client.text.matchAll(/^ {2}(curl .*?)\r?$/gm)].map((match) => match[1]!);
    expect(commands).toHaveLength(3);
    const outputs = await Promise.all(commands.map((command) => promisify(execFile)('/bin/sh', ['-c', command])));
    expect(outputs[0]?.stdout).toContain('"ok"');
    expect(outputs[1]?.stdout).toContain('42');
    expect(JSON.parse(outputs[2]?.stdout ?? '').success).toBe(true);
  });
});

/** Starts the command on a terminal of its own and waits for the banner. */
async function sallyportOnTerminal(args: readonly string[]): Promise<{ readonly text: string }> {
  const { createSpawner } = await import('../../src/sandbox/index.js');
  const spawner = createSpawner();
  onTestFinished(() => spawner.dispose());
  const child = await spawner.spawn({
    argv: [process.execPath, SALLYPORT, ...args],
    env: { PATH, HOME: '/tmp' },
    cwd: '/',
    stdio: { kind: 'terminal', rows: 40, cols: 200 },
    level: 'process',
  });
  let text = '';
  await new Promise<void>((resolve) => {
    child.outputs[0]?.onData((chunk) => {
      text += chunk.toString();
      if (text.includes('Ctrl-C')) resolve();
    });
    void child.exited.then(() => resolve());
  });
  return { text };
}

describe('what cannot be served', () => {
  const refused = async (args: readonly string[], env: Record<string, string> = {}): Promise<string> => {
    const { code, stderr } = await sallyport(['serve', '--port', '0', '--cache-dir', folder(), ...args], {
      env: { PATH, ...env },
    });
    expect(code).toBe(2);
    expect(stderr.trim().split('\n'), stderr).toHaveLength(1);
    return stderr;
  };

  it('is said in one line with what to do, and exit code 2', async () => {
    const taken: Server = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    expect(await refused(['--port', String(port)])).toMatch(/port is taken.*--port/);
    expect(await refused([], { EXECUTOR_API_KEY: 'short' })).toMatch(/5 characters.*key create/);
    expect(await refused(['--host', '0.0.0.0'])).toContain('EXECUTOR_API_KEY');
    expect(await refused(['--isolation', 'container'], { PATH: folder() })).toMatch(
      /the level container cannot be enforced: .*apt-get install bubblewrap.*--isolation/,
    );
    expect(await refused(['--workspace', '/nonexistent'])).toContain('is not there');
    const config = join(folder(), 'c.json');
    expect(await refused(['--config', config])).toContain('cannot read');
    writeFileSync(config, '{\n  "prot": 1\n}');
    expect(await refused(['--config', config])).toContain('c.json:2: prot is not a setting; did you mean port?');
    const file = join(folder(), 'file');
    writeFileSync(file, '');
    expect(await refused(['--cache-dir', join(file, 'cache')])).toMatch(/cache folder.*--cache-dir/);
    expect(await refused(['--wasm', '/nonexistent'])).toContain('Wasm modules');
    expect(await refused(['--tools', '/nonexistent.mjs'])).toContain('tools');
    const few = spawn(
      '/bin/sh',
      ['-c', 'ulimit -n 300; exec "$0" "$@"', process.execPath, SALLYPORT, 'serve', '--port', '0'],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { PATH, HOME: folder() },
      },
    );
    let stderr = '';
    few.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [code] = await once(few, 'close');
    expect(code).toBe(2);
    expect(stderr).toContain('ulimit -n');
  });
});
