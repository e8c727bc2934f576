import { Buffer } from 'node:buffer';
import { readSync } from 'node:fs';
import { JOB_HANDLE, LENGTH_BYTES, SECRET_BYTES, type ToChild } from './protocol.js';

const parse = JSON.parse;

/** Reads exactly so many bytes, however long that takes. Nothing when there will never be as many. */
function readExactly(length: number): Buffer | undefined {
  // Never of the pool that small buffers share: whoever has one of those can read its neighbours.
  const bytes = Buffer.alloc(length);
  for (let got = 0; got < length; ) {
    const more = readSync(JOB_HANDLE, bytes, got, length - got, null);
    if (more === 0) return undefined;
    got += more;
  }
  return bytes;
}

/** Waits for the secret that comes before the job, in memory that is nobody else's. Nothing when there is no work. */
export function readSecret(): Uint8Array | undefined {
  return readExactly(SECRET_BYTES);
}

/**
 * Waits for the next message, and does nothing else meanwhile: a child that waits has nothing else to do, and what it takes
 * to listen for events costs a third of its whole start. Nothing when the server is gone, or has no work.
 */
export function readMessage(): ToChild | undefined {
  const head = readExactly(LENGTH_BYTES);
  const body = head === undefined ? undefined : readExactly(head.readUInt32BE(0));
  return body === undefined ? undefined : parse(body.toString('utf8'));
}

/** Listens for the wish to abort from now on. It does not keep the process alive. */
export async function listenForAbort(heard: (reason: string) => void): Promise<void> {
  const { Socket } = await import('node:net');
  const socket = new Socket({ fd: JOB_HANDLE, readable: true, writable: false });
  let buffered = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    buffered = Buffer.concat([buffered, chunk]);
    if (buffered.length < LENGTH_BYTES) return;
    const end = LENGTH_BYTES + buffered.readUInt32BE(0);
    if (buffered.length < end) return;
    const message: ToChild = parse(buffered.toString('utf8', LENGTH_BYTES, end));
    buffered = buffered.subarray(end);
    if (message.type === 'abort') heard(message.reason);
  });
  socket.on('error', () => {});
  socket.unref();
}
