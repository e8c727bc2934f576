import type { WireMap } from '../../wire/index.js';
import { CheckFailed, NotApplicable } from '../check.js';
import type { CheckContext } from '../context.js';
import { isObject, JSON_CODEC, type JsonObject } from '../target/codec.js';
import { connect } from '../target/connect.js';
import type { Peer } from '../target/peer.js';
import type { PlayedGuest } from './played-guest.js';
import { Stage } from './stage.js';

/** How long a host may take to make a further call while others wait; one that makes one at a time makes none. */
const OVERLAP_MS = 2_000;

/** What goes with a call of the host beside its name and parameters. */
export interface CallSettings {
  readonly timeoutMs?: number;
  /** A call that is never answered. */
  readonly notify?: true;
}

/** A call that the guest has received and not answered. */
export interface Begun {
  /** Which call of the host under test it is. */
  readonly id: string;
  readonly guest: PlayedGuest;
  readonly call: WireMap;
}

/** A host under test, told what to call over its standard input, and the stage on which its guests appear. */
export class HostSession {
  readonly driver: Peer<JsonObject>;
  readonly #stage: Stage;
  #calls = 0;

  constructor(driver: Peer<JsonObject>, stage: Stage) {
    this.driver = driver;
    this.#stage = stage;
  }

  /** Has the host call a function of its guest, and gives the id of its outcome. */
  start(functionName: string, params?: unknown, settings: CallSettings = {}): string {
    this.#calls += 1;
    const call = String(this.#calls);
    this.driver.send({ call, functionName, ...(params === undefined ? {} : { params }), ...settings });
    return call;
  }

  /** The next guest that the host starts. */
  guest(expected?: string): Promise<PlayedGuest> {
    return this.#stage.guest(expected);
  }

  /** Has the host call a function, and receives the call as its guest, the first one that it starts. */
  async begin(functionName = 'work', params?: unknown, settings: CallSettings = {}): Promise<Begun> {
    const id = this.start(functionName, params, settings);
    const guest = await this.guest();
    return { id, guest, call: await guest.called() };
  }

  /** The next call to a guest that comes while others wait, or nothing when none comes soon. */
  soon(guest: PlayedGuest): Promise<WireMap | undefined> {
    return guest.peer.nextWithin('a further call', OVERLAP_MS, (message) =>
      message['type'] === 0 ? message : undefined,
    );
  }

  /**
   * A further call that comes before the first is answered. The text lets calls interleave and does not ask for it: where the
   * further one only comes once the first is answered, the check does not apply.
   */
  async alongside({ guest, call }: Begun): Promise<WireMap> {
    const further = await this.soon(guest);
    if (further !== undefined) return further;
    guest.respond(call);
    await guest.called('a further call, at least once the first is answered');
    throw new NotApplicable('the host makes one call at a time');
  }

  /** What the host says about a call in the end. */
  async outcome(id: string): Promise<JsonObject> {
    const found = await this.driver.next(`the outcome of call ${id}`, (message) =>
      message['call'] === id ? message : undefined,
    );
    if (typeof found['unsupported'] === 'string') throw new NotApplicable(found['unsupported']);
    return found;
  }

  /** The outcome of a call that worked. */
  async worked(id: string): Promise<JsonObject> {
    const outcome = await this.outcome(id);
    if (outcome['ok'] === true) return outcome;
    throw new CheckFailed({ expected: `call ${id} to work`, cameBack: JSON.stringify(outcome) });
  }

  /** What a call returned. */
  async value(id: string): Promise<unknown> {
    return (await this.worked(id))['result'];
  }

  /** Why a call failed. */
  async failed(id: string): Promise<string> {
    const outcome = await this.outcome(id);
    if (outcome['ok'] === false && typeof outcome['error'] === 'string') return outcome['error'];
    throw new CheckFailed({ expected: `call ${id} to fail, with a text`, cameBack: JSON.stringify(outcome) });
  }

  /** What the host received through a stream of a call: its chunks, and the error if it failed. */
  async received(id: string, name: string): Promise<JsonObject> {
    const { streams } = await this.worked(id);
    const stream = isObject(streams) ? streams[name] : undefined;
    if (isObject(stream)) return stream;
    throw new CheckFailed({ expected: `the stream ${name}`, cameBack: JSON.stringify(streams) });
  }
}

/** Starts the host, and tells it the command of its guests. */
export async function openHost(context: CheckContext): Promise<HostSession> {
  const stage = await Stage.open(context);
  const driver = await connect(context, JSON_CODEC);
  driver.send({ guest: stage.command });
  return new HostSession(driver, stage);
}

/** A function of the host that the guest may call: what stands there in the params is the name under which it is found. */
export const callback = (name: 'echo' | 'fail' | 'nothing' | 'note' | 'notes'): JsonObject => ({ $callback: name });

/** A stream to the guest. */
export const sending = (items: readonly unknown[], error?: string): JsonObject =>
  error === undefined ? { $send: items } : { $send: items, error };

/** A stream from the guest. */
export const receiving = (name: string): JsonObject => ({ $receive: name });
