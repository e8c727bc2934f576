import type { Readable, Writable } from 'node:stream';
import { FrameDecoder } from './frames.js';
import { FRAME_TIMEOUT_MS } from './limits.js';
import type { MessageDecoder } from './message-decoder.js';
import { type Clock, streamTransport } from './stream-transport.js';
import type { Transport } from './transport.js';

export interface FrameTransportLimits {
  /** Largest payload that is received. Default: 16 MiB. */
  readonly maxFrameBytes?: number;
  /** Most bytes that wait to be written. A message that comes on top is refused with `WIRE_BACKLOG`. Default: 64 MiB. */
  readonly maxBacklogBytes?: number;
  /** How long one frame may take to arrive, in milliseconds. Default: 10 s. */
  readonly frameTimeoutMs?: number;
}

export interface FrameTransportOptions<In, Out> {
  /** Where frames come from: the stdout of a child, or a socket. */
  readonly readable: Readable;
  /** Where frames go: the stdin of a child, or the same socket. */
  readonly writable: Writable;
  /** Makes a message of one payload; what it throws ends the transport. The payload must not be written to. */
  readonly decode: (payload: Uint8Array) => In;
  /** Makes one whole frame, header included, of a message: `encodeFrame`, say. What it throws, `send` throws. */
  readonly encode: (message: Out) => Uint8Array;
  readonly limits?: FrameTransportLimits;
  readonly clock?: Clock;
}

/** Carries messages as frames over a pair of Node streams. It owns both streams from now on. */
export function frameTransport<In, Out>(options: FrameTransportOptions<In, Out>): Transport<In, Out> {
  const { readable, writable, encode, limits = {} } = options;
  return streamTransport({
    readable,
    writable,
    encode,
    decoder: new FramedMessages(options.decode, new FrameDecoder(limits)),
    partialTimeoutMs: limits.frameTimeoutMs ?? FRAME_TIMEOUT_MS,
    ...(limits.maxBacklogBytes === undefined ? {} : { maxBacklogBytes: limits.maxBacklogBytes }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
}

/** Frames, each decoded as it is complete. */
class FramedMessages<In> implements MessageDecoder<In> {
  readonly #decode: (payload: Uint8Array) => In;
  readonly #frames: FrameDecoder;

  constructor(decode: (payload: Uint8Array) => In, frames: FrameDecoder) {
    this.#decode = decode;
    this.#frames = frames;
  }

  get pending(): boolean {
    return this.#frames.pending;
  }

  get completed(): number {
    return this.#frames.completed;
  }

  push(chunk: Uint8Array, emit: (message: In) => void): void {
    this.#frames.push(chunk, (payload) => emit(this.#decode(payload)));
  }

  end(): void {
    this.#frames.end();
  }
}
