'use strict';
// The second thread of a guest that polls: reads standard input into the ring. It waits in the event loop and in
// `Atomics.wait`, never in a blocking read, so that the process can exit at any time.
const net = require('node:net');
const { workerData: shared } = require('node:worker_threads');
const { RING_BYTES, HEADER_BYTES, WRITTEN, READ, ENDED, CHANGES } = require('./standard-input.cjs');

const header = new Int32Array(shared, 0, HEADER_BYTES / 4);
const ring = new Uint8Array(shared, HEADER_BYTES);

function put(chunk) {
  for (let from = 0; from < chunk.length; ) {
    const written = Atomics.load(header, WRITTEN);
    const read = Atomics.load(header, READ);
    const room = RING_BYTES - ((written - read) | 0);
    if (room === 0) {
      Atomics.wait(header, READ, read);
      continue;
    }
    const at = (written >>> 0) % RING_BYTES;
    const count = Math.min(room, chunk.length - from, RING_BYTES - at);
    ring.set(chunk.subarray(from, from + count), at);
    from += count;
    Atomics.store(header, WRITTEN, (written + count) | 0);
    changed();
  }
}

function changed() {
  Atomics.add(header, CHANGES, 1);
  Atomics.notify(header, CHANGES);
}

function end() {
  Atomics.store(header, ENDED, 1);
  changed();
}

const input = new net.Socket({ fd: 0, readable: true, writable: false });
input.on('data', put);
input.on('end', end);
input.on('error', end);
input.on('close', end);
