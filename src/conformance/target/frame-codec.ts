import {
  decodeMessagePack,
  encodeFrame,
  FRAME_VERSION,
  FrameDecoder,
  type MessageDecoder,
  type WireMap,
  type WireValue,
} from '../../wire/index.js';
import { type Codec, NoMessage } from './codec.js';

/** One MessagePack map per frame of duplex-rpc. Which fields it has is for the checks to judge. */
export const FRAME_CODEC: Codec<WireMap> = {
  decoder: () => new MapDecoder(),
  encode: (message) => encodeFrame(message),
  show: showWire,
};

class MapDecoder implements MessageDecoder<WireMap | NoMessage> {
  readonly #frames = new FrameDecoder();

  get pending(): boolean {
    return this.#frames.pending;
  }

  get completed(): number {
    return this.#frames.completed;
  }

  push(chunk: Uint8Array, emit: (message: WireMap | NoMessage) => void): void {
    this.#frames.push(chunk, (payload) => emit(mapOf(payload)));
  }

  end(): void {
    this.#frames.end();
  }
}

function mapOf(payload: Uint8Array): WireMap | NoMessage {
  try {
    const value = decodeMessagePack(payload);
    return isMap(value) ? value : new NoMessage(`a payload that is no map: ${showWire(value)}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return new NoMessage(`${reason} in the payload ${Buffer.from(payload.subarray(0, 256)).toString('hex')}`);
  }
}

/** Tells whether a decoded value is a map. */
export function isMap(value: WireValue | undefined): value is WireMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

/** A value in one line: JSON, with binary as hexadecimal digits and large integers with their digits. */
export function showWire(value: unknown): string {
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item === 'bigint') return `${item}n`;
    return item instanceof Uint8Array ? `0x${Buffer.from(item.subarray(0, 64)).toString('hex')}` : item;
  });
  return text ?? 'nothing';
}

/** A frame around any payload, of any version: what a check needs to break the rules, or to use them to the full. */
export function frameOf(payload: Uint8Array | string, version: number = FRAME_VERSION): Uint8Array {
  const bytes = typeof payload === 'string' ? Buffer.from(payload, 'hex') : Buffer.from(payload);
  const header = Buffer.alloc(5);
  header.writeUInt8(version);
  header.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([header, bytes]);
}
