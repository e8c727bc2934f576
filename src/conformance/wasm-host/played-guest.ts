import type { Socket } from 'node:net';
import type { WireMap } from '../../wire/index.js';
import { CheckFailed } from '../check.js';
import type { CheckContext } from '../context.js';
import { DuplexPeer } from '../target/duplex-peer.js';
import type { Peer } from '../target/peer.js';

/** A guest that the suite plays, whose process the host has started and may end. */
export class PlayedGuest extends DuplexPeer {
  readonly #context: CheckContext;
  readonly #life: Socket;
  readonly #gone: Promise<void>;
  #calls = 0;

  constructor(context: CheckContext, peer: Peer<WireMap>, life: Socket) {
    super(peer);
    this.#context = context;
    this.#life = life;
    this.#gone = new Promise((resolve) => life.on('end', resolve).on('close', () => resolve()));
    life.resume();
    void this.#gone.then(() => context.transcript.add('note', 'the process of the guest is gone'));
  }

  /** Calls a function of the host, and gives the id of the call. */
  call(functionName: string, params?: unknown, fields: Readonly<Record<string, unknown>> = {}): string {
    this.#calls += 1;
    const id = String(fields['id'] ?? `g${this.#calls}`);
    const given = params === undefined ? {} : { params };
    this.peer.send({ type: 0, functionName, ...given, ...fields, id });
    return id;
  }

  /** Waits until the process is gone. */
  async terminated(): Promise<void> {
    const { deadline } = this.#context;
    const expected = 'the host to terminate the process of the guest';
    const late = (): Error => new CheckFailed({ expected, cameBack: `it lived on for ${deadline.limitMs} ms` });
    await deadline.wait(this.#gone, late);
  }

  /** Ends the process by itself, with that exit code. */
  exit(code: number): void {
    this.#context.transcript.add('note', `the guest exits with code ${code}`);
    this.#life.write(Uint8Array.of(code));
  }
}
