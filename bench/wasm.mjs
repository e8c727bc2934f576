// The wasm boundary against the published client `duplex-rpc`, in one run, in rounds that take turns.
//
//   published   as its user would run it: `spawn` with `stdio: ['pipe', 'pipe', 'inherit']`, `duplexFromSpawnedProcess`,
//               `createApiClientFromDuplex`. No limits, no timeouts, no schemas of the user. Its child is our runner, as
//               there is no other runtime that is always there; handle 3, on which that gets the module, is the only
//               addition.
//   sallyport   `openWasm` with its defaults: every check and limit on, the guest in a session of its own, behind `prlimit`,
//               with the permission model of Node. Only the limits for frames and memory are raised, for the largest frame.
//
//   bare pipe   for round trips: 44 bytes to `cat` and back. What is left of it in the other two is their own time.
//
// Both sides run the same guest (C) in processes of their own that live for the whole run.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  AsyncWritable,
  createApiClientFromDuplex,
  createRpcFunctionDefinition,
  duplexFromSpawnedProcess,
  rpcCallback,
} from 'duplex-rpc';
import { createSink, openWasm } from '../dist/wasm/index.js';
import { bench, report } from './harness.mjs';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const GUEST = path('../examples/wasm/c/guest.wasm');
const MEBIBYTE = 1024 * 1024;
const FRAME_BYTES = 64 * MEBIBYTE;
/** Long enough for both cores to go idle. */
const SETTLE_MS = 20;

/** The published client, which starts no process itself. */
function published() {
  const child = spawn(process.execPath, ['--no-warnings', path('../dist/wasm/runtime/runner.cjs')], {
    stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
    env: {},
  });
  child.stdio[3].end(readFileSync(GUEST));
  const definition = createRpcFunctionDefinition({ params: (params) => params, decodeResult: (result) => result });
  const names = ['add', 'echo', 'callHost', 'produce'];
  const client = createApiClientFromDuplex(
    duplexFromSpawnedProcess(child),
    Object.fromEntries(names.map((name) => [name, definition])),
  );
  // With the end of its input the guest ends by itself; a kill now and then ends the client with an error nobody can catch.
  return { call: client, end: () => child.stdin.end() };
}

/** What no client can beat: bytes to a program that sends them straight back, without a protocol. */
function barePipe() {
  const child = spawn('/bin/cat', { stdio: ['pipe', 'pipe', 'inherit'], env: {} });
  const bytes = Buffer.alloc(44, 1);
  let resolve = () => {};
  child.stdout.on('data', () => resolve());
  const roundTrip = () =>
    new Promise((done) => {
      resolve = done;
      child.stdin.write(bytes);
    });
  return { roundTrip, end: () => child.kill('SIGKILL') };
}

async function count(iterable) {
  let total = 0;
  for await (const _chunk of iterable) total += 1;
  return total;
}

function expect(value, wanted) {
  if (value !== wanted) throw new Error(`got ${value} instead of ${wanted}`);
}

const theirs = published();
const bare = barePipe();
const ours = await openWasm(GUEST, {
  limits: { frameBytes: FRAME_BYTES, memoryBytes: 512 * MEBIBYTE },
  timeoutMs: 60_000,
});

await bench('calls one after another', {
  sides: {
    published: async () => expect(await theirs.call.add([1, 2]), 3),
    sallyport: async () => expect(await ours.call.add([1, 2]), 3),
    'bare pipe': bare.roundTrip,
  },
  // Short measurements from rest and many rounds: each pair of them is close in time, whatever else the machine does.
  iterations: 300,
  rounds: 80,
  settleMs: SETTLE_MS,
});

const flight = (call) => () => Promise.all(Array.from({ length: 256 }, (_, index) => call([index, 1])));
await bench('calls, 256 in flight', {
  sides: { published: flight(theirs.call.add), sallyport: flight(ours.call.add) },
  iterations: 10,
  operations: 256,
  rounds: 15,
});

const ROUND_TRIPS = 300;
await bench('callback round trips', {
  sides: {
    published: async () =>
      expect(
        await theirs.call.callHost({ name: rpcCallback(async (value) => value + 1), params: 1, times: ROUND_TRIPS }),
        2,
      ),
    sallyport: async () =>
      expect(await ours.call.callHost({ name: (value) => value + 1, params: 1, times: ROUND_TRIPS }), 2),
    'bare pipe': async () => {
      for (let left = ROUND_TRIPS; left > 0; left -= 1) await bare.roundTrip();
    },
  },
  iterations: 1,
  operations: ROUND_TRIPS,
  rounds: 80,
  settleMs: SETTLE_MS,
});

const CHUNKS = 5_000;
await bench('chunks of 1 KB, guest to host', {
  sides: {
    published: async () => {
      const stream = new AsyncWritable();
      const counted = count(stream.createAsyncIterator());
      await theirs.call.produce({ stream, count: CHUNKS, size: 1_024 });
      expect(await counted, CHUNKS);
    },
    sallyport: async () => {
      const stream = createSink();
      const counted = count(stream);
      await ours.call.produce({ stream, count: CHUNKS, size: 1_024 });
      expect(await counted, CHUNKS);
    },
  },
  iterations: 1,
  operations: CHUNKS,
  bytes: 1_024 * CHUNKS,
  rounds: 15,
});

// One frame from the guest. The published client concatenates per chunk it reads, which is quadratic; ours is linear: half
// the size takes half the time.
const frame = (size) => async () => {
  const stream = createSink();
  const counted = count(stream);
  await ours.call.produce({ stream, count: 1, size });
  expect(await counted, 1);
};
await bench('one large frame, guest to host', {
  sides: {
    'published, 32 MB': async () => {
      const stream = new AsyncWritable();
      const counted = count(stream.createAsyncIterator());
      await theirs.call.produce({ stream, count: 1, size: 32 * MEBIBYTE });
      expect(await counted, 1);
    },
    'sallyport, 32 MB': frame(32 * MEBIBYTE),
    'sallyport, 16 MB': frame(16 * MEBIBYTE),
  },
  iterations: 1,
  rounds: 3,
  warmup: 1,
});
await ours.dispose();
theirs.end();
bare.end();

const cold = async () => {
  const client = published();
  await client.call.add([1, 2]);
  client.end();
};
let spares = await openWasm(GUEST, { warm: 1 });
const settle = () => new Promise((resolve) => setTimeout(resolve, 300));
await settle();
// Only the reply is timed: the next spare is started, and waited for, outside.
const SPARE_ROUNDS = 15;
const timings = [];
for (let round = 0; round < SPARE_ROUNDS; round += 1) {
  const before = performance.now();
  await spares.call.add([1, 2]);
  timings.push(performance.now() - before);
  await spares.dispose();
  spares = await openWasm(GUEST, { warm: 1 });
  await settle();
}
await spares.dispose();
await bench('spawn to first reply, without a spare', {
  sides: {
    published: cold,
    sallyport: async () => {
      const client = await openWasm(GUEST);
      await client.call.add([1, 2]);
      await client.dispose();
    },
  },
  iterations: 1,
  rounds: 7,
  warmup: 1,
});

report();
timings.sort((a, b) => a - b);
if (!process.argv.includes('--json')) {
  console.log(
    `\nfirst reply from a warm spare: median ${timings[SPARE_ROUNDS >> 1].toFixed(2)} ms, best ${timings[0].toFixed(2)} ms of ${timings.length}`,
  );
}
