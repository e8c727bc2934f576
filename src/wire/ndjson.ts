import { EncodedJson } from './encoded-json.js';
import { decodeJson, type JsonBudget } from './json.js';
import { LineDecoder } from './lines.js';
import type { MessageDecoder } from './message-decoder.js';
import { type StreamTransportOptions, streamTransport } from './stream-transport.js';
import type { Transport } from './transport.js';

export interface JsonMessageOptions {
  /** What one message may cost. */
  readonly budget?: Partial<JsonBudget>;
  /** Turns a message that cannot be decoded into one the protocol can answer. Without it the transport ends. */
  readonly onMalformed?: (error: Error) => unknown;
}

/** Decodes one JSON document per line, each within the budget. */
export class JsonLineDecoder implements MessageDecoder<unknown> {
  readonly #lines: LineDecoder;
  readonly #options: JsonMessageOptions;

  constructor(options: JsonMessageOptions = {}) {
    this.#options = options;
    this.#lines = new LineDecoder(options.budget?.bytes);
  }

  get pending(): boolean {
    return this.#lines.pending;
  }

  get completed(): number {
    return this.#lines.completed;
  }

  push(chunk: Uint8Array, emit: (message: unknown) => void): void {
    this.#lines.push(chunk, (line) => emit(this.#decode(line)));
  }

  end(emit: (message: unknown) => void): void {
    this.#lines.end((line) => emit(this.#decode(line)));
  }

  #decode(line: Uint8Array): unknown {
    return decodeJsonMessage(() => decodeJson(line, this.#options.budget), this.#options);
  }
}

/** Decodes one message; what cannot be decoded goes to `onMalformed` where there is one. */
export function decodeJsonMessage(decode: () => unknown, options: JsonMessageOptions): unknown {
  if (!options.onMalformed) return decode();
  try {
    return decode();
  } catch (error) {
    return options.onMalformed(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Encodes one message as a line. */
export function encodeJsonLine(message: unknown): string {
  return `${JSON.stringify(message)}\n`;
}

export type NdjsonTransportOptions = JsonMessageOptions &
  Omit<StreamTransportOptions<unknown, unknown>, 'decoder' | 'encode' | 'carriesJson'>;

/** Carries JSON messages as lines over a pair of byte streams. What arrives still has to be validated. */
export function ndjsonTransport(options: NdjsonTransportOptions): Transport<unknown, unknown> {
  const encode = (message: unknown): Uint8Array | string =>
    message instanceof EncodedJson ? message.line : encodeJsonLine(message);
  return streamTransport({ ...options, carriesJson: true, decoder: new JsonLineDecoder(options), encode });
}
