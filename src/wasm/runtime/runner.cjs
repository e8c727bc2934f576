'use strict';
// The built-in runtime: the program of a child process that runs one WASI command and nothing else. Plain CommonJS, because
// it is the file that `node` starts: no loader, no other module than the ones beside it, the shortest way to the guest.
//
// Handle 3 belongs to the host. The module comes in on it; what goes out is one line of JSON per event:
//   {"event":"ready"}                          the module is instantiated, its start function has returned
//   {"event":"failed","stage":…,"message":…}   it does not compile or link, or it trapped
// The guest cannot write there: its handles are 0, 1 and 2.
//
// With the argument `compile` it ends where the module would be instantiated: nothing of it runs.
const fs = require('node:fs');
const { createWasi } = require('./wasi.cjs');

const CONTROL = 3;
/** As a shell reports a program that aborted. */
const TRAP_EXIT_CODE = 134;
const MAX_MESSAGE_CHARS = 500;
/** Holds most modules; it doubles for larger ones. */
const FIRST_READ_BYTES = 1024 * 1024;

function readModule() {
  let bytes = Buffer.allocUnsafeSlow(FIRST_READ_BYTES);
  for (let filled = 0; ; ) {
    if (filled === bytes.length) {
      const larger = Buffer.allocUnsafeSlow(bytes.length * 2);
      bytes.copy(larger);
      bytes = larger;
    }
    const count = fs.readSync(CONTROL, bytes, filled, bytes.length - filled, null);
    if (count === 0) return bytes.subarray(0, filled);
    filled += count;
  }
}

function tell(event) {
  try {
    fs.writeSync(CONTROL, `${JSON.stringify(event)}\n`);
  } catch {
    // The host is gone, or does not listen: the exit code says it, too.
  }
}

function fail(stage, error) {
  const message = String(error instanceof Error ? error.message : error).slice(0, MAX_MESSAGE_CHARS);
  tell({ event: 'failed', stage, message });
  process.exit(TRAP_EXIT_CODE);
}

let stage = 'compile';
try {
  const module = new WebAssembly.Module(readModule());
  stage = 'link';
  const wasi = createWasi();
  if (process.argv[2] === 'compile') {
    const missing = WebAssembly.Module.imports(module).find(({ name }) => !Object.hasOwn(wasi.imports, name));
    if (missing !== undefined) throw new Error(`WASI has no function ${missing.name}`);
    process.exit(0);
  }
  stage = 'start';
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: wasi.imports });
  const { memory, _start: start } = instance.exports;
  wasi.bind(memory);
  tell({ event: 'ready' });
  stage = 'run';
  start();
  process.exit(0);
} catch (error) {
  fail(error instanceof WebAssembly.LinkError ? 'link' : stage, error);
}
