import { randomUUID } from 'node:crypto';
import { createServer, type Server, type Socket } from 'node:net';
import { CheckFailed } from '../check.js';
import type { CheckContext } from '../context.js';
import type { Channel, Ending } from '../target/channel.js';
import { FRAME_CODEC } from '../target/frame-codec.js';
import { Peer } from '../target/peer.js';
import { PlayedGuest } from './played-guest.js';
import { relayCommand } from './relay.js';

/** Longer than any greeting of a relay. */
const MAX_GREETING_BYTES = 200;

interface Arrival {
  data?: Socket;
  life?: Socket;
}

/** Where guests come in: every process that the host starts from the command of this stage is played by the suite. */
export class Stage {
  readonly command: readonly string[];
  readonly #context: CheckContext;
  readonly #key: string;
  readonly #arrivals = new Map<string, Arrival>();
  readonly #guests: PlayedGuest[] = [];
  readonly #waiting: ((guest: PlayedGuest) => void)[] = [];

  private constructor(context: CheckContext, server: Server, key: string) {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new TypeError('a listening server has a port');
    this.#context = context;
    this.#key = key;
    this.command = relayCommand(address.port, key);
    server.on('connection', (socket) => this.#greet(socket));
  }

  static async open(context: CheckContext): Promise<Stage> {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    context.defer(() => void server.close());
    return new Stage(context, server, randomUUID());
  }

  /** The next guest that the host starts, or has started. */
  async guest(expected = 'the host to start a guest'): Promise<PlayedGuest> {
    const ready = this.#guests.shift();
    if (ready !== undefined) return ready;
    const arrives = new Promise<PlayedGuest>((resolve) => this.#waiting.push(resolve));
    const { deadline } = this.#context;
    return deadline.wait(arrives, () => new CheckFailed({ expected, cameBack: `none within ${deadline.limitMs} ms` }));
  }

  /** Reads the first line of a relay, which says what the connection is for. */
  #greet(socket: Socket): void {
    socket.on('error', () => {});
    this.#context.defer(() => void socket.destroy());
    let greeting = Buffer.alloc(0);
    const read = (chunk: Buffer): void => {
      greeting = Buffer.concat([greeting, chunk]);
      const end = greeting.indexOf('\n');
      if (end === -1 && greeting.length < MAX_GREETING_BYTES) return;
      socket.off('data', read);
      socket.pause();
      const [kind, key, id, pid] = greeting.subarray(0, end).toString().split(' ');
      if (key !== this.#key || id === undefined || pid === undefined) return void socket.destroy();
      if (greeting.length > end + 1) socket.unshift(greeting.subarray(end + 1));
      this.#arrive(kind === 'life' ? { life: socket } : { data: socket }, id, pid);
    };
    socket.on('data', read);
  }

  #arrive(part: Arrival, id: string, pid: string): void {
    const { data, life } = { ...this.#arrivals.get(id), ...part };
    this.#arrivals.set(id, { ...(data && { data }), ...(life && { life }) });
    if (data === undefined || life === undefined) return;
    this.#context.transcript.add('note', `the host started a guest with pid ${pid}`);
    const guest = new PlayedGuest(this.#context, new Peer(this.#context, channelOf(data), FRAME_CODEC), life);
    const next = this.#waiting.shift();
    if (next === undefined) this.#guests.push(guest);
    else next(guest);
  }
}

function channelOf(socket: Socket): Channel {
  const listeners: ((ending: Ending) => void)[] = [];
  let ended = false;
  const finish = (): void => {
    if (ended) return;
    ended = true;
    for (const listener of listeners) listener({ crashed: false, text: 'the host closed the input of the guest' });
  };
  socket.on('end', finish).on('close', finish);
  return {
    carrier: 'stream',
    send: (data) => void socket.write(data),
    onData: (handler) => void socket.on('data', handler).resume(),
    onEnd: (handler) => void listeners.push(handler),
    end: () => void socket.end(),
  };
}
