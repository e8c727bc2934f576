/** One thing that happened in an execution, as an event stream carries it. */
export interface ToolEvent {
  readonly id: number;
  readonly event: 'start' | 'phase' | 'log' | 'preliminary' | 'result';
  readonly data: unknown;
}

export interface EventLogLimits {
  readonly maxEvents: number;
  readonly maxBytes: number;
}

type Listener = (event: ToolEvent) => void;

/** The events of one execution, kept for readers that come late or come back. `result` is the last one. */
export class EventLog {
  readonly #limits: EventLogLimits;
  readonly #listeners = new Set<Listener>();
  #events: { readonly event: ToolEvent; readonly bytes: number }[] = [];
  #bytes = 0;
  #next = 1;
  #closed = false;

  constructor(limits: EventLogLimits) {
    this.#limits = limits;
  }

  /** Whether the result is there. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Bytes of the logs and preliminary outputs that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  append(name: ToolEvent['event'], data: unknown): void {
    if (this.#closed) return;
    const event: ToolEvent = { id: this.#next, event: name, data };
    this.#next += 1;
    if (name === 'result') this.#closed = true;
    // Only what can be trimmed is worth measuring.
    const bytes = name === 'log' || name === 'preliminary' ? JSON.stringify(data).length : 0;
    this.#events.push({ event, bytes });
    this.#bytes += bytes;
    this.#trim();
    for (const listener of [...this.#listeners]) listener(event);
    if (this.#closed) this.#listeners.clear();
  }

  /** Hands over what came after an event, and what comes from now on. Returns how to stop. */
  follow(after: number, listener: Listener): () => void {
    for (const { event } of this.#events) if (event.id > after) listener(event);
    if (this.#closed) return () => {};
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #trim(): void {
    const { maxEvents, maxBytes } = this.#limits;
    if (this.#events.length <= maxEvents && this.#bytes <= maxBytes) return;
    // The frame of the story stays: what started, which phases there were, how it ended.
    const at = this.#events.findIndex(({ event }) => event.event === 'log' || event.event === 'preliminary');
    if (at === -1) return;
    const [gone] = this.#events.splice(at, 1);
    this.#bytes -= gone?.bytes ?? 0;
    this.#trim();
  }
}
