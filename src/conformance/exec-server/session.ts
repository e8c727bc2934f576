import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { CheckFailed, NotApplicable } from '../check.js';
import type { CheckContext } from '../context.js';
import { JSON_CODEC } from '../target/codec.js';
import { connect } from '../target/connect.js';
import { isOnThisMachine } from '../target/target.js';
import { type Dialect, ExecClient } from './client.js';
import { DEFAULT_FOLDER } from './limits.js';

/** What a check of this suite talks through: as many connections as it needs, in either dialect. */
export class ExecSession {
  readonly #context: CheckContext;

  constructor(context: CheckContext) {
    this.#context = context;
  }

  get context(): CheckContext {
    return this.#context;
  }

  /** The dialects that are asked for. */
  get dialects(): readonly Dialect[] {
    const chosen = this.#context.settings.get('dialect');
    return chosen === 'first' || chosen === 'later' ? [chosen] : ['first', 'later'];
  }

  /** A folder that processes of the target can write to and see what others wrote. */
  get folder(): string {
    return this.#context.settings.get('folder') ?? DEFAULT_FOLDER;
  }

  /**
   * Names a folder of the check's own in it, which goes with the check. It is there already where that is a folder of this machine
   * that the suite can make things in. Anywhere else only the target can make it, and remove it.
   */
  ownFolder(): string {
    const path = `${this.folder}/sallyport-conformance-${randomUUID()}`;
    if (!isOnThisMachine(this.#context.target) || !isAbsolute(path)) return path;
    this.#context.removes(path);
    try {
      mkdirSync(path);
      // As open as a folder for all usually is: at an address there may be another user.
      chmodSync(path, 0o1777);
    } catch {
      // A folder of the target's alone.
    }
    return path;
  }

  /** A `waitMs` that no check lives to see: an answer that comes at all came early. */
  get longWaitMs(): number {
    return 2 * this.#context.deadline.limitMs;
  }

  get carrier(): 'stdio' | 'websocket' {
    return this.#context.target.kind === 'command' ? 'stdio' : 'websocket';
  }

  /** Connects, and sends nothing yet. */
  async connect(dialect: Dialect): Promise<ExecClient> {
    const peer = await connect(this.#context, JSON_CODEC);
    const client = new ExecClient(peer, dialect, { folder: this.folder, env: this.#mark });
    if (this.carrier === 'websocket') this.#context.defer(() => client.endAll());
    return client;
  }

  /** What the processes of the check have in their environment, so that the suite finds them where it can. */
  get #mark(): Readonly<Record<string, string>> {
    const { target, strays } = this.#context;
    return isOnThisMachine(target) ? strays.variable : {};
  }

  /** Connects and does the handshake. */
  async open(dialect: Dialect): Promise<ExecClient> {
    const client = await this.connect(dialect);
    await client.open();
    return client;
  }
}

type Body = (client: ExecClient, session: ExecSession) => Promise<void>;
type Run = (session: ExecSession) => Promise<void>;

/** Runs a check once for each dialect that is asked for, after the handshake. */
export function inEach(body: Body): Run {
  return eachOf(['first', 'later'], 'open', body);
}

/** The same before the handshake. */
export function bareInEach(body: Body): Run {
  return eachOf(['first', 'later'], 'connect', body);
}

/** Runs a check in the first dialect only. */
export function inFirst(body: Body): Run {
  return eachOf(['first'], 'open', body);
}

/** Runs a check in the later dialect only. */
export function inLater(body: Body): Run {
  return eachOf(['later'], 'open', body);
}

/** The same before the handshake. */
export function bareInLater(body: Body): Run {
  return eachOf(['later'], 'connect', body);
}

/** Says that a check can only be made over one of the two transports. */
export function needs(session: ExecSession, carrier: 'stdio' | 'websocket'): void {
  const target = carrier === 'stdio' ? 'a command' : 'a ws: address';
  if (session.carrier !== carrier) throw new NotApplicable(`it takes ${target}`);
}

function eachOf(dialects: readonly Dialect[], begin: 'open' | 'connect', body: Body): Run {
  return async (session) => {
    const wanted = session.dialects.filter((dialect) => dialects.includes(dialect));
    if (wanted.length === 0) throw new NotApplicable(`it is about the ${dialects.join()} dialect`);
    for (const dialect of wanted) {
      try {
        await body(await session[begin](dialect), session);
      } catch (error) {
        if (!(error instanceof CheckFailed)) throw error;
        const { expected, cameBack } = error;
        throw new CheckFailed({ expected: `in the ${dialect} dialect: ${expected}`, cameBack });
      }
    }
  };
}
