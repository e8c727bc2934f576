import { CheckFailed } from '../check.js';
import type { CheckContext } from '../context.js';
import { isObject, JSON_CODEC, type JsonObject } from '../target/codec.js';
import { connect } from '../target/connect.js';
import type { Peer } from '../target/peer.js';
import { manifest, OPTIONS } from './messages.js';

export interface Execution {
  readonly id?: string;
  readonly options?: Partial<typeof OPTIONS>;
  readonly providers?: readonly JsonObject[];
}

/** What a tool of the suite answers: a result, or an error of the trusted host. */
export type ToolAnswer =
  | { readonly ok: true; readonly result?: unknown }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } };

/** Not an absent result: a runner that cannot take one fails the check that says so, and no other. */
const NOTHING: ToolAnswer = { ok: true, result: null };

const TOOLS = manifest('tools', 'echo', 'other');

/** A host that drives one runner, message by message. */
export class RunnerSession {
  readonly peer: Peer<JsonObject>;
  readonly #reopen: () => Promise<RunnerSession>;
  #executions = 0;

  constructor(peer: Peer<JsonObject>, reopen: () => Promise<RunnerSession>) {
    this.peer = peer;
    this.#reopen = reopen;
  }

  /** A further session of its own: the protocol has one execution in each. */
  again(): Promise<RunnerSession> {
    return this.#reopen();
  }

  /** Sends `execute`, and gives its id. */
  execute(code: string, { id, options, providers = [TOOLS] }: Execution = {}): string {
    this.#executions += 1;
    const own = id ?? `exec-${this.#executions}`;
    this.peer.send({ type: 'execute', id: own, code, options: { ...OPTIONS, ...options }, providers });
    return own;
  }

  /** Sends `tool_result` for a call. */
  answer(call: JsonObject, answer: ToolAnswer = NOTHING): void {
    this.peer.send({ type: 'tool_result', callId: call['callId'], ...answer });
  }

  cancel(id: string): void {
    this.peer.send({ type: 'cancel', id });
  }

  started(id: string): Promise<JsonObject> {
    return this.#next(`started with id ${id}`, 'started', id);
  }

  call(name = 'a tool_call'): Promise<JsonObject> {
    return this.#next(name, 'tool_call');
  }

  done(id: string): Promise<JsonObject> {
    return this.#next(`done with id ${id}`, 'done', id);
  }

  /** Runs a program whose tools all answer the same, to its `done`. */
  async run(code: string, execution: Execution = {}, answer: ToolAnswer = NOTHING): Promise<JsonObject> {
    const id = this.execute(code, execution);
    for (;;) {
      const message = await this.peer.next(`done with id ${id}`, (candidate) =>
        candidate['type'] === 'tool_call' || (candidate['type'] === 'done' && candidate['id'] === id)
          ? candidate
          : undefined,
      );
      if (message['type'] === 'done') return message;
      this.answer(message, answer);
    }
  }

  #next(expected: string, type: string, id?: string): Promise<JsonObject> {
    return this.peer.next(expected, (message) =>
      message['type'] === type && (id === undefined || message['id'] === id) ? message : undefined,
    );
  }
}

/** The result of a successful run. Fails for any other. */
export function resultOf(done: JsonObject): unknown {
  if (done['ok'] !== true) {
    throw new CheckFailed({ expected: 'done with ok: true', cameBack: JSON.stringify(done) });
  }
  return done['result'];
}

/** The error of a failed run, with its code. Fails for any other. */
export function errorOf(done: JsonObject): JsonObject & { readonly code: unknown } {
  const error = done['error'];
  if (done['ok'] !== false || !isObject(error)) {
    throw new CheckFailed({ expected: 'done with ok: false and an error', cameBack: JSON.stringify(done) });
  }
  return { ...error, code: error['code'] };
}

/** Starts or connects to a runner. */
export function openRunner(context: CheckContext): Promise<RunnerSession> {
  const reopen = async (): Promise<RunnerSession> => new RunnerSession(await connect(context, JSON_CODEC), reopen);
  return reopen();
}
