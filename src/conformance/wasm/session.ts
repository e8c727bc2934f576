import type { WireMap, WireValue } from '../../wire/index.js';
import type { CheckContext } from '../context.js';
import { connect } from '../target/connect.js';
import { DuplexPeer, expectValue } from '../target/duplex-peer.js';
import { FRAME_CODEC } from '../target/frame-codec.js';

/** A host that drives one guest, message by message. */
export class GuestSession extends DuplexPeer {
  #calls = 0;

  /** Sends a FunctionCall and gives its id. `fields` replace or add to what it says. */
  call(functionName: string, params?: unknown, fields: Readonly<Record<string, unknown>> = {}): string {
    const message = this.message(functionName, params, fields);
    this.peer.send(message);
    return String(message['id']);
  }

  /** A FunctionCall that is not sent yet. */
  message(
    functionName: string,
    params?: unknown,
    fields: Readonly<Record<string, unknown>> = {},
  ): Readonly<Record<string, unknown>> {
    this.#calls += 1;
    return {
      type: 0,
      id: `call-${this.#calls}`,
      functionName,
      ...(params === undefined ? {} : { params }),
      ...fields,
    };
  }

  /**
   * Fails when a message that `pick` picks is there or comes. One more call goes to the guest and back first, so that neither a
   * slow machine nor a guest that is gone passes for a quiet one.
   */
  async quiet(expected: string, pick?: (message: WireMap) => unknown): Promise<void> {
    expectValue(await this.result(this.call('add', [20, 22])), 42, 'the result of the next call');
    await this.peer.quiet(expected, pick);
  }

  /** The same for a guest that may end instead, but must not hang. */
  async quietOrEnd(expected: string, pick?: (message: WireMap) => unknown): Promise<void> {
    const served = await this.answerOrEnd(this.call('add', [20, 22]));
    if (served !== undefined) expectValue(served['result'], 42, 'the result of the next call');
    await this.peer.quietOrEnd(expected, pick);
  }
}

/** The index that a chunk of `produce` carries. */
export function indexOf(chunk: WireValue): WireValue {
  if (!(chunk instanceof Uint8Array) || chunk.length < 4) return chunk;
  return Buffer.from(chunk).readUInt32LE();
}

/** Starts or connects to a guest. */
export async function openGuest(context: CheckContext): Promise<GuestSession> {
  return new GuestSession(await connect(context, FRAME_CODEC));
}
