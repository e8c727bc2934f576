import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import { ExecClient } from '../../../src/process/index.js';
import { SALLYPORT } from '../../e2e/command.js';
import { familyOf } from '../../sandbox/helpers.js';
import { TestRegistry } from '../../tool/registry.js';

export type Level = 'process' | 'container';

/** A value of the server's own environment that nothing may ever get hold of. */
export const SECRET = 'the-secret-of-the-fortress';

// biome-ignore lint/suspicious/noExplicitAny: attacks look into answers of any shape
export type Answer = any;

/** What is there of a server at one moment. */
export interface Inventory {
  readonly processes: number;
  readonly handles: number;
  readonly files: readonly string[];
  readonly mounts: number;
  readonly megabytes: number;
}

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const PATH = '/usr/local/bin:/usr/bin:/bin';
/** The status of a request that the server did not let finish. */
export const CUT_OFF = 0;

/** A module with one tool. */
export function exported(name: string, execute: string): string {
  return `export const ${name} = { description: 'x', inputSchema: { type: 'object' }, execute: ${execute} };`;
}

/** A server of the built program that is attacked, and everything around it. */
export class Fortress implements AsyncDisposable {
  readonly level: Level;
  readonly registry: TestRegistry;
  readonly url: string;
  readonly pid: number;
  /** Where commands work. */
  readonly work: string;
  /** A file of somebody else on the same machine. */
  readonly treasure: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  #log = '';

  private constructor(level: Level, registry: TestRegistry, child: ChildProcess, url: string, folder: string) {
    this.level = level;
    this.registry = registry;
    this.#child = child;
    this.pid = child.pid ?? 0;
    this.url = url;
    this.#folder = folder;
    this.work = join(folder, 'work');
    this.treasure = join(folder, 'treasure');
    child.stdout?.on('data', (chunk) => {
      this.#log = `${this.#log}${chunk}`.slice(-200_000);
    });
  }

  static async build(level: Level): Promise<Fortress> {
    const registry = await TestRegistry.start();
    registry.tool('plain', exported('add', '({ a, b }) => a + b'));
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-siege-')));
    for (const name of ['work', 'tmp', 'home']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'treasure'), SECRET);
    const args = ['serve', '--port', '0', '--isolation', level, '--cache-dir', join(folder, 'cache')];
    args.push('--registry', registry.url, '--tools', file('../fixtures/tools.mjs'));
    args.push('--wasm', file('../../../examples/wasm/c'));
    const child = spawn(process.execPath, [SALLYPORT, ...args], {
      env: { PATH, HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp'), A_SECRET: SECRET },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const url = await new Promise<string>((resolve, reject) => {
      let text = '';
      child.stdout.on('data', (chunk) => {
        text += chunk;
        const found = /"url":"([^"]+)"/.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
      child.once('exit', () => reject(new Error('the server did not start')));
    });
    return new Fortress(level, registry, child, url, folder);
  }

  get log(): string {
    return this.#log;
  }

  get standing(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    // A connection for each request, so that none of ours counts as left behind.
    const asked = request(`${this.url}${path}`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', ...headers },
    });
    asked.end(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body));
    // Whoever is cut off while it still sends may not get to read why.
    asked.on('error', () => {});
    const answered: Promise<IncomingMessage[]> = once(asked, 'response');
    const [response] = await answered.catch(() => []);
    if (response === undefined) return { status: CUT_OFF };
    const answer = await text(response);
    return { status: response.statusCode, ...(answer.startsWith('{') ? JSON.parse(answer) : { text: answer }) };
  }

  /** Publishes a package whose `run` is this function, and calls it. */
  async tool(name: string, source: string, more: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    this.registry.tool(name, source);
    return await this.post('/execute-tool', { packageName: name, name: 'run', params: {}, timeoutMs: 3_000, ...more });
  }

  /** Sends bytes over a connection of their own, and returns what came back until it closed, or was silent. */
  raw(pieces: readonly (string | Uint8Array)[], silenceMs = 1_000): Promise<string> {
    const { hostname, port } = new URL(this.url);
    return new Promise((resolve) => {
      let text = '';
      const socket: Socket = connect(Number(port), hostname, () => {
        for (const piece of pieces) socket.write(piece);
      });
      socket.setTimeout(silenceMs, () => socket.destroy());
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(text));
    });
  }

  /** Sends messages over a WebSocket, and returns all that came back until it closed, or this many answers were there. */
  talk(
    path: string,
    messages: readonly (string | Uint8Array)[],
    answers: number,
    patienceMs = 3_000,
  ): Promise<Answer[]> {
    return new Promise((resolve) => {
      const heard: Answer[] = [];
      const socket = new WebSocket(`${this.url.replace('http', 'ws')}${path}`);
      const timer = setTimeout(() => socket.terminate(), patienceMs);
      socket.on('open', () => {
        for (const message of messages) socket.send(message);
      });
      socket.on('message', (data, binary) => {
        heard.push(binary ? data : JSON.parse(String(data)));
        if (heard.length >= answers) socket.terminate();
      });
      socket.on('error', () => {});
      socket.on('close', (code, reason) => {
        clearTimeout(timer);
        resolve(heard.length >= answers ? heard : [...heard, { closed: code, reason: String(reason) }]);
      });
    });
  }

  /** Runs a shell script through the process boundary. */
  async command(script: string, more: { readonly timeoutMs?: number; readonly cwd?: string } = {}): Promise<Answer> {
    const client = await ExecClient.connectWebSocket(`${this.url.replace('http', 'ws')}/exec`);
    try {
      const { timeoutMs = 5_000, cwd = this.work } = more;
      const argv = ['sh', '-c', script];
      const handle = await client.start({ argv, cwd, env: { PATH }, timeoutMs });
      let text = '';
      for await (const piece of handle.output) if (text.length < 100_000) text += piece.toString();
      return { ...(await handle.wait()), text };
    } finally {
      await client.close();
    }
  }

  /** Asks each boundary for something ordinary. */
  async serves(): Promise<void> {
    expect(this.standing, this.#log).toBe(true);
    const [guest, wasm, tool, command] = await Promise.all([
      this.post('/run', { code: 'return [typeof left, await tools.echo(2)]' }),
      this.post('/wasm/guest/add', [20, 22]),
      this.post('/execute-tool', { packageName: 'plain', name: 'add', params: { a: 1, b: 2 } }),
      this.command('echo fine', { timeoutMs: 20_000 }),
    ]);
    expect(guest).toMatchObject({ ok: true, result: ['undefined', 2] });
    expect(wasm).toMatchObject({ result: 42 });
    expect(tool, JSON.stringify(tool)).toMatchObject({ success: true, output: 3 });
    expect(command).toMatchObject({ exitCode: 0, text: 'fine\n' });
  }

  inventory(): Inventory {
    const proc = `/proc/${this.pid}`;
    return {
      processes: familyOf(this.pid).length,
      handles: readdirSync(`${proc}/fd`).length,
      files: [...readdirSync(join(this.#folder, 'tmp')), ...readdirSync(this.work)].sort(),
      mounts: readFileSync(`${proc}/mounts`, 'utf8').split('\n').length,
      megabytes: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`${proc}/status`, 'utf8'))?.[1] ?? 0) / 1024,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    if (this.standing) {
      this.#child.kill('SIGKILL');
      await gone;
    }
    await this.registry.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
