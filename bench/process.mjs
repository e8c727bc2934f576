// The process boundary: start to exit, many at once, terminal echo, piped output, idle memory.
//
//   node scripts/build.mjs && node bench/process.mjs                 Sallyport alone
//   node bench/process.mjs --peers                                   next to the exec-server of the npm package @openai/codex,
//                                                                    which is fetched for it into bench/.peers
//   node bench/process.mjs "--peer-command=codex exec-server --listen stdio"   next to one that is here already
//
// Both servers are driven by the same minimal client: one JSON document per line, later dialect, pipes.
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bench, report } from './harness.mjs';
import { install, wanted } from './peers.mjs';

const PEER_VERSION = '0.166.0';
const WARMUP_ECHOES = 4_000;
const THROUGHPUT_BYTES = 64 * 1024 * 1024;
const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** One server on pipes, and as little client as it takes. */
class Server {
  #child;
  #rest = [];
  #pending = new Map();
  #listeners = new Map();
  #nextId = 1;

  constructor(argv) {
    this.#child = spawn(argv[0], argv.slice(1), { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child.stdout.on('data', (chunk) => this.#onData(chunk));
  }

  async open() {
    await this.call('initialize', { clientName: 'bench', resumeSessionId: null });
    this.send({ method: 'initialized', params: {} });
  }

  send(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  call(method, params) {
    const id = this.#nextId++;
    this.send({ id, method, params });
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  /** Starts a process; `onEvent` gets every notification of it. */
  start(argv, onEvent, more = {}) {
    const processId = `p${this.#nextId}`;
    this.#listeners.set(processId, onEvent);
    const params = {
      processId,
      argv,
      cwd: 'file:///tmp',
      env: { PATH: '/usr/bin:/bin' },
      tty: false,
      arg0: null,
      ...more,
    };
    return this.call('process/start', params).then(() => processId);
  }

  /** Runs a command to its close and counts its output. */
  run(argv, more) {
    return new Promise((resolve, reject) => {
      let bytes = 0;
      this.start(
        argv,
        (method, params) => {
          if (method === 'process/output') bytes += Buffer.from(params.chunk, 'base64').length;
          if (method === 'process/closed') resolve(bytes);
        },
        more,
      ).catch(reject);
    });
  }

  rss() {
    // A launcher script may stand in front of the server: all of the family counts, but the largest is the server.
    const pids = [this.#child.pid, ...descendants(this.#child.pid)];
    return Math.max(
      ...pids.map((pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)),
    );
  }

  close() {
    this.#child.stdin.end();
    return new Promise((resolve) => {
      this.#child.once('exit', resolve);
      setTimeout(() => this.#child.kill('SIGKILL'), 2_000).unref();
    });
  }

  #onData(chunk) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#rest.push(chunk.subarray(start, end));
      const line = this.#rest.length === 1 ? this.#rest[0] : Buffer.concat(this.#rest);
      this.#rest = [];
      start = end + 1;
      this.#onMessage(JSON.parse(line.toString('latin1')));
    }
    if (start < chunk.length) this.#rest.push(chunk.subarray(start));
  }

  #onMessage(message) {
    if (message.method !== undefined) {
      this.#listeners.get(message.params.processId)?.(message.method, message.params);
      if (message.method === 'process/closed') this.#listeners.delete(message.params.processId);
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error !== undefined) pending?.reject(new Error(message.error.message));
    else pending?.resolve(message.result);
  }
}

function descendants(pid) {
  const listed = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
    .map(Number);
  return listed.flatMap((child) => [child, ...descendants(child)]);
}

/** An echoing terminal: each call types a line and waits until it has come back. */
async function echo(server) {
  let seen = '';
  let wake = () => {};
  const processId = await server.start(
    ['cat'],
    (method, params) => {
      if (method === 'process/output') seen += Buffer.from(params.chunk, 'base64').toString('latin1');
      wake();
    },
    { tty: true },
  );
  let count = 0;
  return async () => {
    const word = `w${count++}.`;
    seen = '';
    const written = server.call('process/write', {
      processId,
      writeId: word,
      chunk: Buffer.from(word).toString('base64'),
    });
    while (!seen.includes(word)) {
      await new Promise((resolve) => {
        wake = resolve;
      });
    }
    await written;
  };
}

function peerCommand() {
  const given = process.argv.find((argument) => argument.startsWith('--peer-command='));
  if (given !== undefined) return given.slice('--peer-command='.length).split(' ');
  if (!wanted && !process.argv.includes('--peer')) return undefined;
  install({ '@openai/codex': PEER_VERSION });
  return [join(root, 'bench', '.peers', 'node_modules', '.bin', 'codex'), 'exec-server', '--listen', 'stdio'];
}

const peer = peerCommand();
const servers = { sallyport: new Server([process.execPath, join(root, 'dist', 'cli', 'main.js'), 'exec-server']) };
if (peer !== undefined) servers.peer = new Server(peer);
for (const server of Object.values(servers)) await server.open();
// The peer is the baseline, so that a ratio says how many times faster Sallyport is.
const names = Object.keys(servers).reverse();
const sides = (make) => Object.fromEntries(names.map((name) => [name, make(servers[name])]));

await new Promise((resolve) => setTimeout(resolve, 1_000));
const idle = names.map((name) => `${name} ${(servers[name].rss() / 1024).toFixed(0)} MB`);
await bench('start to exit of true', {
  sides: sides((server) => () => server.run(['true'])),
  iterations: 20,
  rounds: 15,
});
await bench('64 at once', {
  sides: sides((server) => () => Promise.all(Array.from({ length: 64 }, () => server.run(['true'])))),
  iterations: 1,
  rounds: 15,
});
const echoes = {};
for (const name of names) echoes[name] = await echo(servers[name]);
// Thousands of keys in: both sides, and the client that they share, run compiled code by then.
await bench('terminal echo', { sides: echoes, iterations: 50, rounds: 30, warmup: WARMUP_ECHOES / 50 });
await bench('piped output', {
  sides: sides((server) => async () => {
    const bytes = await server.run(['head', '-c', String(THROUGHPUT_BYTES), '/dev/zero']);
    if (bytes !== THROUGHPUT_BYTES) throw new Error(`${bytes} bytes arrived`);
  }),
  iterations: 1,
  rounds: 5,
  warmup: 1,
  bytes: THROUGHPUT_BYTES,
});
report();
const after = names.map((name) => `${name} ${(servers[name].rss() / 1024).toFixed(0)} MB`);
if (!process.argv.includes('--json'))
  console.log(`\nserver memory idle: ${idle.join(', ')}; after all of it: ${after.join(', ')}`);
await Promise.all(Object.values(servers).map((server) => server.close()));
process.exit(0);
