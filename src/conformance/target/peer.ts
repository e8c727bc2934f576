import { setTimeout as delay } from 'node:timers/promises';
import { CheckFailed } from '../check.js';
import type { CheckContext } from '../context.js';
import { MAX_MESSAGES, MAX_QUIET_MS, QUIET_MS } from '../limits.js';
import type { Channel, Ending } from './channel.js';
import { type Codec, NoMessage } from './codec.js';

/**
 * The far end of one connection, as a check sees it: what it sent waits until the check asks for it. Every message in
 * either direction is in the transcript. Bytes that are no message fail whatever wait comes next.
 */
export class Peer<Message> {
  readonly #context: CheckContext;
  readonly #channel: Channel;
  readonly #codec: Codec<Message>;
  readonly #waiting = new Set<() => void>();
  #received: Message[] = [];
  #violation: string | undefined;
  #ending: Ending | undefined;

  constructor(context: CheckContext, channel: Channel, codec: Codec<Message>) {
    this.#context = context;
    this.#channel = channel;
    this.#codec = codec;
    const decoder = codec.decoder(channel.carrier);
    const take = (message: Message | NoMessage): void => this.#take(message);
    channel.onData((chunk) => this.#guard(() => decoder.push(chunk, take)));
    channel.onEnd((ending) => {
      this.#guard(() => decoder.end(take));
      this.#ending = ending;
      this.#changed();
    });
  }

  /** Messages that arrived and that nobody has asked for yet. */
  get unread(): readonly Message[] {
    return this.#received;
  }

  send(message: unknown): void {
    this.#context.transcript.add('suite', this.#codec.show(message));
    this.#channel.send(this.#codec.encode(message, this.#channel.carrier));
  }

  /** Sends what is no message: text as it is (a line end included, if there is to be one), or bytes. */
  sendRaw(data: string | Uint8Array): void {
    const shown = typeof data === 'string' ? JSON.stringify(data) : `${data.length} bytes: ${hex(data)}`;
    this.#context.transcript.add('suite', shown);
    this.#channel.send(data);
  }

  /** Takes the first unread message for which `pick` gives something. Fails when the target ends or the time is up first. */
  async next<T>(expected: string, pick: (message: Message) => T | undefined): Promise<T> {
    return this.#until(expected, () => this.#pick(pick));
  }

  /** The same, or nothing when the target ends first. */
  async nextOrEnd<T>(expected: string, pick: (message: Message) => T | undefined): Promise<T | undefined> {
    return this.next(expected, pick).catch((error: unknown) => {
      if (this.#ending === undefined) throw error;
      return undefined;
    });
  }

  /** The same, or nothing when none comes within so many milliseconds. */
  async nextWithin<T>(expected: string, ms: number, pick: (message: Message) => T | undefined): Promise<T | undefined> {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#changed();
    }, ms);
    try {
      const { found } = await this.#until(expected, () => {
        const message = this.#pick(pick);
        return message !== undefined || late ? { found: message } : undefined;
      });
      return found;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Fails when a message that `pick` picks is there or comes within the quiet time, or when the target crashes. */
  async quiet(expected: string, pick?: (message: Message) => unknown, quietMs?: number): Promise<void> {
    await this.quietOrEnd(expected, pick, quietMs);
    if (this.#ending?.crashed) throw new CheckFailed({ expected, cameBack: this.#ending.text });
  }

  /** The same for a target that may end in any way. */
  async quietOrEnd(
    expected: string,
    pick: (message: Message) => unknown = () => true,
    quietMs = Math.min(Math.max(QUIET_MS, this.#context.deadline.longestWaitMs), MAX_QUIET_MS),
  ): Promise<void> {
    await this.#pause(quietMs);
    this.#requireNoViolation(expected);
    const found = this.#received.find((message) => pick(message));
    if (found !== undefined) throw new CheckFailed({ expected, cameBack: this.#codec.show(found) });
  }

  /** Waits until the target ends the connection or itself. */
  async ended(expected: string): Promise<Ending> {
    return this.#until(expected, () => this.#ending);
  }

  /** How it ended, if it did. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** Ends our side: closes standard input, or the socket. */
  end(): void {
    this.#context.transcript.add('note', 'the suite ends its side');
    this.#channel.end();
  }

  async #until<T>(expected: string, attempt: () => T | undefined): Promise<T> {
    let wake = (): void => {};
    const late = (): Error => new CheckFailed({ expected, cameBack: this.#nothing() });
    try {
      for (;;) {
        const found = attempt();
        if (found !== undefined) return found;
        this.#requireNoViolation(expected);
        if (this.#ending !== undefined) throw new CheckFailed({ expected, cameBack: this.#ending.text });
        const changed = new Promise<void>((resolve) => {
          wake = resolve;
        });
        this.#waiting.add(wake);
        await this.#context.deadline.wait(changed, late);
      }
    } finally {
      this.#waiting.delete(wake);
    }
  }

  #nothing(): string {
    const { limitMs } = this.#context.deadline;
    const other = this.#received.map((message) => this.#codec.show(message));
    return other.length === 0 ? `nothing within ${limitMs} ms` : `within ${limitMs} ms only: ${other.join(' ')}`;
  }

  #pick<T>(pick: (message: Message) => T | undefined): T | undefined {
    for (const [index, message] of this.#received.entries()) {
      const found = pick(message);
      if (found === undefined) continue;
      this.#received.splice(index, 1);
      return found;
    }
    return undefined;
  }

  #requireNoViolation(expected: string): void {
    if (this.#violation !== undefined) throw new CheckFailed({ expected, cameBack: this.#violation });
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#context.deadline;
    await delay(ms, undefined, { signal }).catch(() => {
      throw new CheckFailed({ expected: 'time to wait', cameBack: 'none left' });
    });
  }

  #take(message: Message | NoMessage): void {
    if (message instanceof NoMessage) return this.#violate(`something that is no message: ${message.reason}`);
    this.#context.transcript.add('target', this.#codec.show(message));
    if (this.#received.length >= MAX_MESSAGES) return this.#violate(`more than ${MAX_MESSAGES} messages`);
    this.#received.push(message);
    this.#changed();
  }

  #guard(decode: () => void): void {
    try {
      decode();
    } catch (error) {
      this.#violate(error instanceof Error ? error.message : String(error));
    }
  }

  #violate(reason: string): void {
    this.#context.transcript.add('note', `violation: ${reason}`);
    this.#violation ??= reason;
    this.#changed();
  }

  #changed(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(0, 256)).toString('hex');
}
