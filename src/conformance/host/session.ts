import { CheckFailed } from '../check.js';
import type { CheckContext } from '../context.js';
import { OPTIONS } from '../runner/messages.js';
import { isObject, JSON_CODEC, type JsonObject } from '../target/codec.js';
import { connect } from '../target/connect.js';
import type { Peer } from '../target/peer.js';

/** What the adapter's tools hold and the runner may never see. */
export const SECRET = 'swordfish-8d1f';

/**
 * The tools of a case, by their original names, and how each behaves: `echo` returns its input, `fail` throws, `hang`
 * settles only when its signal fires, `bad` returns what is not transport-safe, `nothing` returns undefined, and `strict`
 * is an echo that takes nothing but `{ n: number }`.
 */
const TOOLS = {
  echo: 'echo',
  fail: 'fail',
  hang: 'hang',
  bad: 'bad',
  nothing: 'nothing',
  strict: 'strict',
  'say-hi': 'echo',
};

export interface HostCase {
  readonly code?: string;
  readonly options?: Partial<typeof OPTIONS>;
}

/** A runner that is driven by the check, in front of a host that an adapter drives. */
export class HostSession {
  readonly peer: Peer<JsonObject>;
  #calls = 0;

  constructor(peer: Peer<JsonObject>) {
    this.peer = peer;
  }

  /** Hands the adapter a case. */
  give({ code = '1 + 1', options }: HostCase = {}): void {
    const providers = [{ name: 'tools', tools: TOOLS }];
    this.peer.send({ type: 'case', code, providers, options: { ...OPTIONS, ...options }, secret: SECRET });
  }

  /** Hands over a case, and says `started` to the `execute` that comes. Gives its id. */
  async begin(given: HostCase = {}): Promise<string> {
    this.give(given);
    const { id } = await this.message('execute');
    if (typeof id !== 'string') throw new CheckFailed({ expected: 'execute with an id', cameBack: JSON.stringify(id) });
    this.say({ type: 'started', id });
    return id;
  }

  /** Sends a message of the runner. */
  say(message: JsonObject): void {
    this.peer.send({ type: 'runner', message });
  }

  /** Sends a successful `done`, or one with other fields. */
  done(id: string, fields: JsonObject = { ok: true, result: 'done' }): void {
    this.say({ type: 'done', id, durationMs: 1, logs: [], ...fields });
  }

  /** Sends a `tool_call`, and gives its callId. */
  call(safeToolName: string, fields: JsonObject = { input: null }): string {
    this.#calls += 1;
    const callId = `call-${this.#calls}`;
    this.say({ type: 'tool_call', callId, providerName: 'tools', safeToolName, ...fields });
    return callId;
  }

  /** Ends the runner's side of the transport. */
  close(): void {
    this.peer.send({ type: 'close' });
  }

  /** Has the caller abort. */
  abort(): void {
    this.peer.send({ type: 'abort' });
  }

  /** The next message of the host to the runner that has this type. */
  message(type: string): Promise<JsonObject> {
    return this.peer.next(`${type} of the host`, (line) => ofHost(line, type));
  }

  /** The host's answer to a call. */
  answer(callId: string): Promise<JsonObject> {
    return this.peer.next(`tool_result for ${callId}`, (line) => {
      const message = ofHost(line, 'tool_result');
      return message?.['callId'] === callId ? message : undefined;
    });
  }

  /** Waits until the adapter says that a tool was called, or that the signal of one fired. */
  noticed(what: 'called' | 'aborted', tool: string): Promise<JsonObject> {
    return this.peer.next(`${what} for the tool ${tool}`, (line) =>
      line['type'] === what && line['tool'] === tool ? line : undefined,
    );
  }

  /** What the caller of the host gets. */
  result(): Promise<JsonObject> {
    return this.peer.next('the result of the execution', (line) =>
      line['type'] === 'result' && isObject(line['result']) ? line['result'] : undefined,
    );
  }
}

/** The message in a line of the adapter, if it is one of this type. */
export function ofHost(line: JsonObject, type: string): JsonObject | undefined {
  const message = line['message'];
  return line['type'] === 'host' && isObject(message) && message['type'] === type ? message : undefined;
}

/** Starts the adapter. */
export async function openHost(context: CheckContext): Promise<HostSession> {
  return new HostSession(await connect(context, JSON_CODEC));
}
