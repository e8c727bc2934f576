// JSON within a budget against bare JSON.parse; MessagePack and frames: the strict codec with all its checks against two
// general ones.
import * as official from '@msgpack/msgpack';
import { Packr, Unpackr } from 'msgpackr';
import { decodeJson, decodeMessagePack, encodeFrame, encodeMessagePack, FrameDecoder } from '../dist/wire/index.js';
import { bench, report } from './harness.mjs';

const encoder = new official.Encoder();
const decoder = new official.Decoder();
const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true });

const MESSAGES = {
  'a small call': [{ functionName: 'add', id: 'c17', type: 0, params: [1, 2] }, 10_000],
  'a response': [
    {
      id: 'c17',
      type: 1,
      result: {
        name: 'Broccoli',
        price: 6.99,
        tags: ['green', 'vegetable', 'fresh'],
        stock: { berlin: 120, paris: 0, rome: -3 },
        note: 'A fine vegetable that grows in the garden behind the house.',
      },
    },
    5_000,
  ],
  // Decoding it copies here, so that it outlives the read buffer; the other two hand out a view.
  'a chunk of 1 KB': [{ id: 's1', type: 3, chunk: new Uint8Array(1024).fill(7) }, 5_000],
  '2,000 records': [
    {
      id: 'c1',
      type: 1,
      result: Array.from({ length: 2_000 }, (_, index) => ({
        index,
        name: `item number ${index}`,
        price: index * 1.25,
        active: index % 2 === 0,
        tags: ['a', 'bb', 'ccc'],
      })),
    },
    4,
  ],
};

const DOCUMENTS = {
  'a small request': [
    { id: 17, method: 'process/read', params: { processId: 'p-1', afterSeq: 4, maxBytes: 65536 } },
    10_000,
  ],
  'a chunk of 8 KB in base64': [
    {
      method: 'process/output',
      params: { processId: 'p-1', stream: 'stdout', chunk: Buffer.alloc(8192, 7).toString('base64') },
    },
    5_000,
  ],
  'a response of 300 values': [
    {
      id: 1,
      result: Array.from({ length: 60 }, (_, index) => ({
        index,
        name: `item ${index}`,
        active: true,
        price: index * 1.5,
      })),
    },
    500,
  ],
};

for (const [name, [message, iterations]] of Object.entries(DOCUMENTS)) {
  const bytes = Buffer.from(JSON.stringify(message));
  await bench(`parse ${name}`, {
    sides: {
      'JSON.parse': () => JSON.parse(bytes.toString()),
      sallyport: () => decodeJson(bytes),
    },
    iterations,
    bytes: bytes.length,
  });
}

// Refused after a scan that builds nothing, where the parser alone builds 100 MB.
const hostile = Buffer.from(`[${'{},'.repeat(1_400_000)}{}]`);
await bench('refuse 4 MB of empty objects', {
  sides: {
    'JSON.parse': () => JSON.parse(hostile.toString()),
    sallyport: () => {
      try {
        decodeJson(hostile);
      } catch {}
    },
  },
  iterations: 1,
  bytes: hostile.length,
});

for (const [name, [message, iterations]] of Object.entries(MESSAGES)) {
  const bytes = Buffer.from(encodeMessagePack(message));
  await bench(`encode ${name}`, {
    sides: {
      '@msgpack/msgpack': () => encoder.encode(message),
      msgpackr: () => packr.pack(message),
      sallyport: () => encodeMessagePack(message),
      'sallyport, as a frame': () => encodeFrame(message),
    },
    iterations,
    bytes: bytes.length,
  });
  await bench(`decode ${name}`, {
    sides: {
      '@msgpack/msgpack': () => decoder.decode(bytes),
      msgpackr: () => unpackr.unpack(bytes),
      sallyport: () => decodeMessagePack(bytes),
    },
    iterations,
    bytes: bytes.length,
  });
}

/** One frame of this size, in pieces of 64 KiB as a pipe delivers them. */
function frameOf(size) {
  const header = Buffer.from([1, 0, 0, 0, 0]);
  header.writeUInt32BE(size, 1);
  const piece = Buffer.alloc(64 * 1024, 7);
  return () => {
    const frames = new FrameDecoder({ maxFrameBytes: size });
    let received = 0;
    const take = (payload) => {
      received += payload.length;
    };
    frames.push(header, take);
    for (let at = 0; at < size; at += piece.length) frames.push(piece, take);
    if (received !== size) throw new Error('the frame did not arrive');
  };
}

const MEBIBYTE = 1024 * 1024;
// Linear: half the size takes half the time.
await bench('frames: one of 32 MB, in pieces of 64 KB', {
  sides: { '32 MB': frameOf(32 * MEBIBYTE), '16 MB': frameOf(16 * MEBIBYTE) },
  iterations: 1,
  rounds: 15,
});

const batch = Buffer.concat(
  Array.from({ length: 1_000 }, (_, id) => encodeFrame({ id: `c${id}`, type: 1, result: id })),
);
await bench('frames: 1,000 small responses in one read, decoded', {
  sides: {
    'frames alone': () => new FrameDecoder().push(batch, () => {}),
    'with messages': () => new FrameDecoder().push(batch, (payload) => decodeMessagePack(payload)),
  },
  iterations: 10,
  operations: 1_000,
});

report();
