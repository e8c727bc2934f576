// The guest's side of duplex-rpc as a state machine to check against: every call that expects an answer gets exactly one.
import { readMessage } from '../../../dist/wasm/messages.js';
import { decodeMessagePack, FrameDecoder } from '../../../dist/wire/index.js';
import { hold, isRegistered } from '../oracles.mjs';

const MAX_FRAME_BYTES = 64 * 1024;

/** Nothing that follows it is looked at. */
class Violation extends Error {}

/** Judges what a guest that serves `add`, `echo`, `divide`, `produce` and `consume` says to a stream of frames. */
export class GuestModel {
  #asked = new Map();
  #answered = new Set();
  #streams = new Map();
  /** Whether what was sent breaks the protocol: the session may end. */
  violated = false;
  #decoder = new FrameDecoder({ maxFrameBytes: 16 * 1024 * 1024 });

  constructor(stream) {
    const decoder = new FrameDecoder({ maxFrameBytes: MAX_FRAME_BYTES });
    try {
      decoder.push(stream, (payload) => this.#sent(readMessage(decodeMessagePack(payload))));
      decoder.end();
    } catch (error) {
      if (!(error instanceof Violation || isRegistered(error))) throw error;
      this.violated = true;
    }
  }

  /** Takes bytes of the guest. */
  heard(chunk) {
    this.#decoder.push(chunk, (payload) => this.#heard(readMessage(decodeMessagePack(payload))));
  }

  /** Calls that still wait for an answer and have to get one. */
  get owed() {
    return [...this.#asked.values()].filter(({ id, sure }) => sure && !this.#answered.has(id)).map(({ id }) => id);
  }

  #sent(message) {
    const { type, id, functionName, params, expectsResponse } = message;
    if (type === 0) {
      if (this.#asked.has(id)) throw new Violation();
      // A stream that does not end keeps its consumer waiting, until the limit for idle streams ends the session.
      this.#asked.set(id, {
        id,
        functionName,
        params,
        silent: expectsResponse === false,
        sure: expectsResponse !== false && functionName !== 'consume',
      });
    }
    if (type === 1 || type === 2) throw new Violation();
  }

  #heard(message) {
    const { type, id } = message;
    if (type === 0) return hold(false, 'the guest calls a function that nobody asked it to');
    if (type === 3 || type === 4 || type === 5) return this.#streamed(message);
    const call = this.#asked.get(id);
    hold(call !== undefined, `an answer to ${id}, which was not asked`);
    hold(!call.silent, `an answer to ${id}, which wants none`);
    hold(!this.#answered.has(id), `a second answer to ${id}`);
    this.#answered.add(id);
    this.#checkAnswer(call, message);
  }

  #checkAnswer({ functionName, params }, { type, result }) {
    if (functionName === 'divide') return hold(type === 2 || typeof result === 'number', 'divide has no answer');
    if (functionName !== 'add' || type !== 1) return undefined;
    const [a, b] = Array.isArray(params) ? params : [];
    if (typeof a === 'number' && typeof b === 'number') hold(result === a + b, `${a} + ${b} is ${result}`);
    return undefined;
  }

  #streamed({ type, id }) {
    hold(this.#streams.get(id) !== 'ended', `stream ${id} goes on after its end`);
    this.#streams.set(id, type === 3 ? 'open' : 'ended');
  }
}
