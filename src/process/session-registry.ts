import type { Clock } from '../wire/index.js';
import { ExecError } from './exec-error.js';
import type { ProcessLimits } from './limits.js';
import { Session, type SessionOptions } from './session.js';

/**
 * All sessions of a server.
 *
 *     open() ──▶ attached ──leave()──▶ first dialect: gone
 *                   ▲                  later dialect: detached ──time is up, or too many──▶ gone
 *                   └──────resume()────────────────────┘
 */
export class SessionRegistry {
  readonly #sessions = new Map<string, Session>();
  readonly #detached = new Map<string, unknown>();
  readonly #limits: ProcessLimits;
  readonly #clock: Clock;

  constructor(limits: ProcessLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get size(): number {
    return this.#sessions.size;
  }

  open(options: Omit<SessionOptions, 'limits' | 'clock'>): Session {
    const session = new Session({ ...options, limits: this.#limits, clock: this.#clock });
    this.#sessions.set(session.id, session);
    return session;
  }

  /** Takes a detached session up again. One of somebody else is as unknown as one that never was. */
  resume(id: string, principal: string): Session {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principal !== principal || session.dialect !== 'later') {
      throw new ExecError('invalidRequest', 'unknown session: it has expired, or never was');
    }
    if (!this.#detached.has(id)) {
      throw new ExecError('sessionAttached', 'the session is still attached to another connection');
    }
    this.#clock.clearTimeout(this.#detached.get(id));
    this.#detached.delete(id);
    return session;
  }

  /** Says that a session's connection is gone. */
  leave(session: Session): Promise<void> {
    if (session.dialect === 'first' || session.disposed) return this.end(session);
    session.detach();
    this.#detached.set(
      session.id,
      this.#clock.setTimeout(() => void this.end(session), this.#limits.detachMs),
    );
    const oldest = this.#detached.keys().next().value;
    const surplus = this.#detached.size > this.#limits.detachedSessions && oldest !== undefined;
    const evicted = surplus ? this.#sessions.get(oldest) : undefined;
    return evicted === undefined ? Promise.resolve() : this.end(evicted);
  }

  /** Ends a session now. */
  end(session: Session): Promise<void> {
    this.#clock.clearTimeout(this.#detached.get(session.id));
    this.#detached.delete(session.id);
    this.#sessions.delete(session.id);
    return session.dispose();
  }

  endAll(): Promise<void> {
    return this.endWhere(() => true);
  }

  async endWhere(fits: (session: Session) => boolean): Promise<void> {
    await Promise.all([...this.#sessions.values()].filter(fits).map((session) => this.end(session)));
  }
}
