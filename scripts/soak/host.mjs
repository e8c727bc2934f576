// The server under soak: started, killed, started again on the same port, and watched.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { descendants, handleCount, leftAfter, rssMiB } from '../lib/process-table.mjs';
import { ROOT, startServer, stopCommand } from '../lib/serve.mjs';

const CLOCK = pathToFileURL(fileURLToPath(new URL('./clock.mjs', import.meta.url))).href;
/** Room for the trees of the load and little more, so that filling it up takes a moment. */
const CACHE_MIB = 48;
/** How long after a kill -9 its children may still be there: the guardian needs a moment on a busy machine. */
const ORPHANS_MS = 10_000;

export class Host {
  url = '';
  /** Executions that the log tells of, over all lives of the server. */
  audit = { started: 0, ended: 0, lostWithServer: 0, negativeDurations: 0 };
  restarts = 0;
  problems = [];
  #folder;
  #registry;
  #server;
  #open = new Set();
  #tmpfs = false;
  #expected = false;

  constructor(folder, registry) {
    this.#folder = folder;
    this.#registry = registry;
    for (const name of ['cache', 'tmp', 'home']) mkdirSync(join(folder, name));
    const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${CACHE_MIB}m`, 'tmpfs', this.cache], {
      stdio: 'ignore',
    });
    this.#tmpfs = status === 0;
    this.setClock(0);
  }

  get cache() {
    return join(this.#folder, 'cache');
  }

  get canFillDisk() {
    return this.#tmpfs;
  }

  get socketUrl() {
    return this.url.replace('http', 'ws');
  }

  get pid() {
    return this.#server.child.pid;
  }

  async start() {
    const port = this.url === '' ? '0' : new URL(this.url).port;
    const args = ['--cache-dir', this.cache, '--wasm', join(ROOT, 'examples/wasm/c'), '--registry', this.#registry.url];
    this.#server = await startServer(['--port', port, ...args], {
      execArgv: ['--import', CLOCK],
      env: {
        HOME: join(this.#folder, 'home'),
        TMPDIR: join(this.#folder, 'tmp'),
        SOAK_CLOCK_FILE: join(this.#folder, 'clock'),
      },
      onLog: (line) => this.#onLog(line),
    });
    this.url = this.#server.url;
    const { said, exit } = this.#server;
    this.#expected = false;
    void exit.then(({ code, signal }) => {
      if (!this.#expected)
        this.problems.push(`the server ended by itself (${code ?? signal}): ${said.stderr.slice(-1_000)}`);
    });
  }

  setClock(shiftMs) {
    writeFileSync(join(this.#folder, 'clock'), String(shiftMs));
  }

  /** Kills the server, checks that its children go with it, and starts it again. */
  async killAndRestart() {
    const children = descendants(this.pid);
    this.#expected = true;
    this.#server.child.kill('SIGKILL');
    await this.#server.exit;
    this.audit.lostWithServer += this.#open.size;
    this.#open.clear();
    const left = await leftAfter(children, ORPHANS_MS);
    if (left.length > 0) this.problems.push(`${left.length} processes outlived a killed server`);
    this.restarts += 1;
    await this.start();
  }

  async stop() {
    const children = descendants(this.pid);
    this.#expected = true;
    const { code, signal } = await stopCommand(this.#server, 40_000);
    const left = await leftAfter(children, ORPHANS_MS);
    if (code !== 0) this.problems.push(`the server ended with ${code ?? signal} after SIGTERM`);
    if (left.length > 0) this.problems.push(`${left.length} processes outlived the server`);
    if (this.#open.size > 0) this.problems.push(`${this.#open.size} executions began and never ended in the log`);
    if (this.#server.said.stderr !== '')
      this.problems.push(`the server said: ${this.#server.said.stderr.slice(-1_000)}`);
    return readdirSync(join(this.#folder, 'tmp'));
  }

  dispose() {
    if (this.#tmpfs) spawnSync('umount', ['-l', this.cache]);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  sample() {
    return {
      rssMiB: Math.round(rssMiB(this.pid)),
      handles: handleCount(this.pid),
      processes: descendants(this.pid).length,
      files: countFiles(join(this.#folder, 'tmp')) + countFiles(join(this.cache, 'tmp')),
    };
  }

  #onLog(line) {
    if (!line.includes('"audit"')) return;
    const { audit, executionId, durationMs } = JSON.parse(line);
    if (audit === 'started') {
      this.audit.started += 1;
      this.#open.add(executionId);
    }
    if (audit === 'ended') {
      if (durationMs < 0) this.audit.negativeDurations += 1;
      if (this.#open.delete(executionId)) this.audit.ended += 1;
    }
  }
}

/** Files and folders under a folder. */
function countFiles(folder) {
  let count = 0;
  try {
    for (const name of readdirSync(folder)) {
      count += 1;
      const path = join(folder, name);
      if (statSync(path).isDirectory()) count += countFiles(path);
    }
  } catch {
    // Gone meanwhile.
  }
  return count;
}
