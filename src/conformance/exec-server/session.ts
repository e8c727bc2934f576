import { CheckFailed, NotApplicable } from '../check.js';
import type { CheckContext } from '../context.js';
import { JSON_CODEC } from '../target/codec.js';
import { connect } from '../target/connect.js';
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

  /** A `waitMs` that no check lives to see: an answer that comes at all came early. */
  get longWaitMs(): number {
    return 2 * this.#context.deadline.limitMs;
  }

  get carrier(): 'stdio' | 'websocket' {
    return this.#context.target.kind === 'command' ? 'stdio' : 'websocket';
  }

  /** Connects, and sends nothing yet. */
  async connect(dialect: Dialect): Promise<ExecClient> {
    const client = new ExecClient(await connect(this.#context, JSON_CODEC), dialect, this.folder);
    if (this.carrier === 'websocket') this.#context.defer(() => client.endAll());
    return client;
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
