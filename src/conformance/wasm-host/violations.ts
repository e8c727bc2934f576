import { encodeFrame, encodeMessagePack, type WireMap } from '../../wire/index.js';
import { frameOf } from '../target/frame-codec.js';

/** A way in which a guest breaks the rules. */
export interface Violation {
  readonly name: string;
  readonly title: string;
  /** Sentences about what a host does then. */
  readonly cites: readonly string[];
  /** What the guest writes instead of an answer to the call. */
  readonly bytes: (call: WireMap) => Uint8Array;
  /** Stands where the text does not name this violation. */
  readonly reason?: string;
}

type Fields = Readonly<Record<string, unknown>>;

const DECODE = ['duplex-rpc.failure.decode'];
const VERSION = ['duplex-rpc.failure.version', 'duplex-rpc.wire.reject-version'];
const SCHEMA = ['duplex-rpc.failure.schema', 'duplex-rpc.rationale.strict'];
const UNKNOWN = ['duplex-rpc.failure.unknown-id'];
const NOT_GRANTED = ['duplex-rpc.failure.unauthorized', 'duplex-rpc.examples.validate'];

function bytes(name: string, title: string, cites: readonly string[], raw: Uint8Array): Violation {
  return { name, title, cites, bytes: () => raw };
}

function message(name: string, title: string, cites: readonly string[], fields: (id: unknown) => Fields): Violation {
  return { name, title, cites, bytes: ({ id }) => encodeFrame(fields(id)) };
}

function beyond(violation: Violation, reason: string): Violation {
  return { ...violation, cites: [], reason };
}

const deep = (levels: number): Uint8Array => frameOf(Buffer.concat([Buffer.alloc(levels, 0x91), Buffer.of(0xc0)]));

/** What a host should end a guest for. */
export const VIOLATIONS: readonly Violation[] = [
  bytes('undecodable', 'a payload that is no MessagePack', DECODE, frameOf('c1')),
  bytes('truncated', 'a payload that stops inside a value', DECODE, frameOf('82a2')),
  bytes('empty', 'a frame without a payload', DECODE, frameOf('')),
  {
    name: 'version-2',
    title: 'a frame of version 2',
    cites: VERSION,
    bytes: ({ id }) => frameOf(encodeMessagePack({ type: 1, id, result: 3 }), 2),
  },
  {
    name: 'version-0',
    title: 'a frame of version 0',
    cites: VERSION,
    bytes: ({ id }) => frameOf(encodeMessagePack({ type: 1, id, result: 3 }), 0),
  },
  bytes('text', 'text that is no frame', ['duplex-rpc.failure.non-protocol'], Buffer.from('Hello, world!\n')),
  {
    name: 'two-messages',
    title: 'two messages in one frame',
    cites: [...DECODE, 'duplex-rpc.wire.one-message'],
    bytes: ({ id }) => {
      const answer = encodeMessagePack({ type: 1, id, result: 3 });
      return frameOf(Buffer.concat([answer, answer]));
    },
  },
  bytes('no-map', 'a payload that is no map', SCHEMA, frameOf('93010203')),
  message('type-missing', 'a message without a type', SCHEMA, (id) => ({ id, result: 3 })),
  message('type-unknown', 'a message of type 6', SCHEMA, (id) => ({ type: 6, id, result: 3 })),
  message('type-text', 'a type that is a text', SCHEMA, (id) => ({ type: '1', id, result: 3 })),
  message('id-missing', 'an answer without an id', SCHEMA, () => ({ type: 1, result: 3 })),
  message('id-number', 'an id that is a number', SCHEMA, () => ({ type: 1, id: 0, result: 3 })),
  message('error-missing', 'a FunctionError without an error', SCHEMA, (id) => ({ type: 2, id })),
  message('error-map', 'an error that is a map', SCHEMA, (id) => ({ type: 2, id, error: { message: 'x' } })),
  message('name-missing', 'a FunctionCall without a name', SCHEMA, () => ({ type: 0, id: 'g1' })),
  message('expects-text', 'expectsResponse that is a text', SCHEMA, () => ({
    type: 0,
    id: 'g1',
    functionName: 'echo',
    expectsResponse: 'no',
  })),
  message('answer-unknown', 'a FunctionResponse for a call that was never made', UNKNOWN, () => ({
    type: 1,
    id: 'never issued',
    result: 3,
  })),
  message('error-unknown', 'a FunctionError for a call that was never made', UNKNOWN, () => ({
    type: 2,
    id: 'never issued',
    error: 'x',
  })),
  message('chunk-unknown', 'a StreamChunk for a stream that was never opened', UNKNOWN, () => ({
    type: 3,
    id: 'never issued',
    chunk: 1,
  })),
  message('end-unknown', 'a StreamEnd for a stream that was never opened', UNKNOWN, () => ({
    type: 4,
    id: 'never issued',
  })),
  message('not-granted', 'a call of a function that was not granted', NOT_GRANTED, () => ({
    type: 0,
    id: 'g1',
    functionName: 'readFile',
    params: '/etc/passwd',
  })),
  beyond(
    bytes(
      'duplicate-key',
      'a map that has a key twice',
      [],
      frameOf('84a26964a130a26964a131a47479706501a6726573756c7403'),
    ),
    'readers disagree on which of the two counts, and a check by one is worth nothing to the next',
  ),
  beyond(
    bytes('deep', 'arrays a hundred thousand deep', [], deep(100_000)),
    'a decoder that recurses runs out of stack; the guest decides when',
  ),
  beyond(
    bytes(
      'huge-count',
      'an array that announces two billion items in a frame of five bytes',
      [],
      frameOf('dd7fffffff'),
    ),
    'who allocates before looking gives a guest all the memory that there is',
  ),
  beyond(
    bytes('huge-frame', 'a frame that announces four gigabytes', [], Buffer.from('01ffffffff', 'hex')),
    'who buffers whatever is announced gives a guest all the memory that there is',
  ),
];
