import type { WireValue } from '../../wire/index.js';
import type { FunctionCall } from '../messages.js';
import { isStreamId } from './ids.js';
import type { ReceivedStreams } from './received-streams.js';
import { StreamQueue } from './stream-queue.js';

interface AnnouncedStream {
  readonly queue: StreamQueue;
  /** Whether a function has asked for it. */
  claimed: boolean;
  /** Whether the peer has ended it: nothing may come under its id any more. */
  ended: boolean;
}

/**
 * Streams of the peer under ids that it chose itself. Any text in the parameters of a call that runs announces one, until
 * that call has ended. What comes waits for a function to claim it, also when all of it has come already; what is not
 * claimed while its call runs is thrown away.
 *
 * Parameters are read once per call, and not before the first stream that this side did not ask for.
 */
export class AnnouncedStreams {
  readonly #received: ReceivedStreams;
  readonly #textsOf = new Map<FunctionCall, ReadonlySet<string>>();
  /** How many calls announce an id. */
  readonly #announcements = new Map<string, number>();
  readonly #streams = new Map<string, AnnouncedStream>();

  constructor(received: ReceivedStreams) {
    this.#received = received;
  }

  /** Finds the queue for a message of a stream that is not open yet, or says why there is none. */
  arrived(id: string, running: Iterable<FunctionCall>): StreamQueue | 'never issued' | 'ended already' {
    this.#readAll(running);
    if (this.#streams.has(id)) return 'ended already';
    return this.#announcements.has(id) ? this.#open(id).queue : 'never issued';
  }

  /** Gives the stream to a function, if the parameters of its call have it. */
  claim(call: FunctionCall, id: string): StreamQueue | undefined {
    if (!this.#read(call).has(id)) return undefined;
    const stream = this.#streams.get(id) ?? this.#open(id);
    stream.claimed = true;
    return stream.queue;
  }

  /** Notes that the peer has ended a stream. */
  ended(id: string, running: Iterable<FunctionCall>): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    // Calls that came before the end announce the stream that ends here; one that comes later announces another.
    this.#readAll(running);
    stream.ended = true;
  }

  /** Forgets what a call announced: it has ended, and nobody can claim it any more. */
  forget(call: FunctionCall): void {
    const texts = this.#textsOf.get(call);
    if (texts === undefined) return;
    this.#textsOf.delete(call);
    for (const id of texts) {
      const others = (this.#announcements.get(id) ?? 1) - 1;
      if (others > 0) this.#announcements.set(id, others);
      else this.#conclude(id);
    }
  }

  clear(): void {
    this.#textsOf.clear();
    this.#announcements.clear();
    this.#streams.clear();
  }

  #conclude(id: string): void {
    this.#announcements.delete(id);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.#streams.delete(id);
    if (stream.claimed) return;
    stream.queue.abandon();
    this.#received.drop(id);
  }

  #open(id: string): AnnouncedStream {
    let queue = this.#received.live(id);
    if (queue === undefined) {
      queue = new StreamQueue();
      this.#received.open(id, queue);
    }
    const stream = { queue, claimed: false, ended: false };
    this.#streams.set(id, stream);
    return stream;
  }

  #readAll(running: Iterable<FunctionCall>): void {
    for (const call of running) if (!this.#textsOf.has(call)) this.#read(call);
  }

  #read(call: FunctionCall): ReadonlySet<string> {
    const known = this.#textsOf.get(call);
    if (known !== undefined) return known;
    const texts = new Set<string>();
    collectTexts(call.params, texts);
    this.#textsOf.set(call, texts);
    for (const id of texts) {
      this.#announcements.set(id, (this.#announcements.get(id) ?? 0) + 1);
      const earlier = this.#streams.get(id);
      if (earlier?.ended === true && earlier.claimed) this.#streams.delete(id);
    }
    return texts;
  }
}

function collectTexts(value: WireValue | undefined, texts: Set<string>): void {
  if (isStreamId(value)) texts.add(value);
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  for (const item of Object.values(value)) collectTexts(item, texts);
}
