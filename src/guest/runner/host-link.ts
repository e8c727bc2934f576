import type { Transport } from '../../wire/index.js';
import { type HostMessage, parseHostMessage, type RunnerMessage } from '../messages.js';

/** The runner's end of a transport: what a host sends is checked here, and what is no message is answered. */
export class HostLink {
  readonly #transport: Transport<unknown, RunnerMessage>;

  constructor(transport: Transport<unknown, RunnerMessage>) {
    this.#transport = transport;
  }

  /** A message, or nothing: then an execution was refused, or the session closed because not even its id can be told. */
  read(value: unknown): HostMessage | undefined {
    const parsed = parseHostMessage(value);
    if (parsed.ok) return parsed.message;
    if (parsed.id === undefined) this.close(parsed.reason);
    else this.refuse(parsed.id, 'validation_error', parsed.reason);
    return undefined;
  }

  /** Answers an execution that comes while another one runs. */
  refuseSecond(id: string): void {
    this.refuse(id, 'internal_error', 'another execution is active on this session');
  }

  /** Answers an execution that is not run. */
  refuse(id: string, code: 'validation_error' | 'internal_error', message: string): void {
    this.send({ type: 'done', id, ok: false, durationMs: 0, logs: [], error: { code, message } });
  }

  /** Sends a message. What cannot be sent ends the session. */
  send(message: RunnerMessage): void {
    try {
      const sent = this.#transport.send(message);
      if (sent instanceof Promise) sent.catch(() => {});
    } catch (error) {
      this.close(error instanceof Error ? error.message : String(error));
    }
  }

  close(reason: string): void {
    this.#transport.close(reason);
  }
}
