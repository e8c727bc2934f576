import { decodeJson, encodeJsonLine, JsonLineDecoder, type MessageDecoder } from '../../wire/index.js';

/** Something that arrived and is no message of the protocol. */
export class NoMessage {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Turns messages of a protocol into bytes and back, on a stream or in frames. */
export interface Codec<Message> {
  decoder(carrier: 'stream' | 'frames'): MessageDecoder<Message | NoMessage>;
  encode(message: unknown, carrier: 'stream' | 'frames'): string | Uint8Array;
  /** One line for a transcript. */
  show(message: unknown): string;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** Tells whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One JSON object per line, or per frame. */
export const JSON_CODEC: Codec<JsonObject> = {
  decoder: (carrier) => new JsonObjectDecoder(carrier),
  encode: (message, carrier) => (carrier === 'stream' ? encodeJsonLine(message) : JSON.stringify(message)),
  show: (message) => JSON.stringify(message) ?? 'undefined',
};

class JsonObjectDecoder implements MessageDecoder<JsonObject | NoMessage> {
  readonly #lines: JsonLineDecoder | undefined;
  readonly pending = false;
  completed = 0;

  constructor(carrier: 'stream' | 'frames') {
    if (carrier === 'stream') this.#lines = new JsonLineDecoder({ onMalformed: refused });
  }

  push(chunk: Uint8Array, emit: (message: JsonObject | NoMessage) => void): void {
    if (this.#lines === undefined) emit(asObject(decode(chunk)));
    else this.#lines.push(chunk, (value) => emit(asObject(value)));
  }

  end(emit: (message: JsonObject | NoMessage) => void): void {
    this.#lines?.end((value) => emit(asObject(value)));
  }
}

function decode(chunk: Uint8Array): unknown {
  try {
    return decodeJson(chunk);
  } catch (error) {
    return refused(error);
  }
}

function refused(error: unknown): NoMessage {
  return new NoMessage(error instanceof Error ? error.message : String(error));
}

function asObject(value: unknown): JsonObject | NoMessage {
  if (value instanceof NoMessage) return value;
  return isObject(value) ? value : new NoMessage(`not an object: ${JSON.stringify(value)}`);
}
