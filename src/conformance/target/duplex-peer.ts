import { isDeepStrictEqual } from 'node:util';
import type { WireMap, WireValue } from '../../wire/index.js';
import { CheckFailed } from '../check.js';
import { expectThat } from '../expect.js';
import { showWire } from './frame-codec.js';
import type { Peer } from './peer.js';

/** How a stream of the other side went. */
export interface ReceivedStream {
  readonly chunks: readonly WireValue[];
  /** The StreamEnd or StreamError. */
  readonly ending: WireMap;
}

/** One side of a duplex-rpc session, message by message: the protocol is the same from both. */
export class DuplexPeer {
  readonly peer: Peer<WireMap>;

  constructor(peer: Peer<WireMap>) {
    this.peer = peer;
  }

  /** The FunctionResponse or FunctionError of a call. */
  answer(id: string): Promise<WireMap> {
    return this.peer.next(`an answer with id ${id}`, (message) => (isAnswer(message, id) ? message : undefined));
  }

  /** The same, or nothing when the other side ends first. */
  answerOrEnd(id: string): Promise<WireMap | undefined> {
    return this.peer.nextOrEnd(`an answer with id ${id}, or the end`, (message) =>
      isAnswer(message, id) ? message : undefined,
    );
  }

  /** What a call returned. Fails for a FunctionError. */
  async result(id: string): Promise<WireValue | undefined> {
    const answer = await this.answer(id);
    expectThat(answer['type'] === 1, `a FunctionResponse with id ${id}`, showWire(answer));
    return answer['result'];
  }

  /** The text of a FunctionError. Fails for a FunctionResponse. */
  async error(id: string): Promise<string> {
    const answer = await this.answer(id);
    const { type, error } = answer;
    if (type === 2 && typeof error === 'string') return error;
    throw new CheckFailed({ expected: `a FunctionError with id ${id} and a text`, cameBack: showWire(answer) });
  }

  /** The next FunctionCall of the other side. */
  called(expected = 'a FunctionCall'): Promise<WireMap> {
    return this.peer.next(expected, (message) => (message['type'] === 0 ? message : undefined));
  }

  respond(call: WireMap, result?: unknown): void {
    this.peer.send({ type: 1, id: call['id'], ...(result === undefined ? {} : { result }) });
  }

  refuse(call: WireMap, error: string): void {
    this.peer.send({ type: 2, id: call['id'], error });
  }

  chunks(id: string, chunks: readonly unknown[]): void {
    for (const chunk of chunks) this.peer.send({ type: 3, id, chunk });
  }

  endStream(id: string): void {
    this.peer.send({ type: 4, id });
  }

  failStream(id: string, error: string): void {
    this.peer.send({ type: 5, id, error });
  }

  /** Receives a stream to its end. */
  async stream(id: string): Promise<ReceivedStream> {
    const chunks: WireValue[] = [];
    for (;;) {
      const message = await this.peer.next(`the end of the stream ${id}`, (candidate) =>
        isStreamPart(candidate) && candidate['id'] === id ? candidate : undefined,
      );
      if (message['type'] !== 3) return { chunks, ending: message };
      const { chunk } = message;
      expectThat(chunk !== undefined, 'a StreamChunk with a chunk', showWire(message));
      chunks.push(chunk);
    }
  }
}

/** Tells whether a message answers a call. */
export function isAnswer({ type, id }: WireMap, call: string): boolean {
  return (type === 1 || type === 2) && id === call;
}

/** Tells whether a message belongs to a stream. */
export function isStreamPart({ type }: WireMap): boolean {
  return type === 3 || type === 4 || type === 5;
}

/** Fails a check unless both values are the same on the wire. */
export function expectValue(actual: unknown, wanted: unknown, what: string): void {
  expectThat(isDeepStrictEqual(actual, wanted), `${what} to be ${showWire(wanted)}`, showWire(actual));
}
