// One connection under test, over lines or over a WebSocket: what goes out exactly as a case says, and what comes back.
import { setImmediate as turn } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { cut } from './cut.mjs';
import { Finding } from './oracles.mjs';

/** Every write is a turn of the event loop at least; more pieces than this only take longer. */
const MAX_PIECES = 400;

/** What both kinds share. `onMessage` judges; the first thing that it throws is kept. */
export class Wire {
  received = [];
  /** Set once the far side, or we, closed it. */
  closed = false;
  closeReason = '';
  problem;
  onMessage = () => {};
  #waiters = new Set();

  /** Resolves when it fits, the wire is closed, something is wrong, or the time is over. Says whether it fits. */
  until(fits, ms) {
    if (this.problem !== undefined || fits()) return Promise.resolve(true);
    if (this.closed) return Promise.resolve(fits());
    return new Promise((resolve) => {
      const look = () => {
        if (this.problem === undefined && !this.closed && !fits()) return;
        end(fits());
      };
      const timer = setTimeout(() => end(false), ms);
      const end = (answer) => {
        clearTimeout(timer);
        this.#waiters.delete(look);
        resolve(answer);
      };
      this.#waiters.add(look);
    });
  }

  /** Throws what went wrong so far. */
  verify() {
    if (this.problem !== undefined) throw this.problem;
  }

  take(text) {
    try {
      let message;
      try {
        message = JSON.parse(text);
      } catch {
        throw new Finding(`what came back is no JSON: ${text.slice(0, 200)}`);
      }
      this.received.push(message);
      this.onMessage(message);
    } catch (error) {
      this.problem ??= error;
    }
    this.wake();
  }

  ended(reason) {
    if (this.closed) return;
    this.closed = true;
    this.closeReason = reason;
    this.wake();
  }

  wake() {
    for (const look of [...this.#waiters]) look();
  }
}

/** A child that speaks lines on standard input and output. */
export class LineWire extends Wire {
  kind = 'lines';
  #child;

  constructor({ child, exit, said }) {
    super();
    this.#child = child;
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) this.take(line);
    });
    // Its last lines come before the end of its output; the exit alone says nothing about them.
    child.stdout.once('close', () => exit.then(() => this.ended(said.stderr.slice(-500))));
  }

  /** Sends one line. `units` are the lines that the far side will see. */
  async send(bytes, { pieces } = {}) {
    await this.#write(Buffer.concat([bytes, Buffer.from('\n')]), pieces);
  }

  static units(bytes) {
    return bytes
      .toString('latin1')
      .split('\n')
      .map((line) => Buffer.from(line, 'latin1'));
  }

  /** Bytes that are no message at all. */
  async noise(bytes) {
    await this.#write(Buffer.concat([bytes, Buffer.from('\n')]));
  }

  end() {
    this.#child.stdin.end();
  }

  destroy() {
    this.#child.kill('SIGKILL');
  }

  async #write(bytes, pieces) {
    for (const piece of inPieces(bytes, pieces)) {
      if (this.closed) return;
      this.#child.stdin.write(piece);
      await turn();
    }
  }
}

/** A client of a WebSocket. */
export class SocketWire extends Wire {
  kind = 'socket';
  #socket;

  static async open(url, options = {}) {
    const socket = new WebSocket(url, { perMessageDeflate: false, ...options });
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return new SocketWire(socket);
  }

  constructor(socket) {
    super();
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('message', (data) => this.take(String(data)));
    socket.on('close', (code, reason) => this.ended(`${code} ${reason}`));
  }

  static units(bytes) {
    return [bytes];
  }

  /** Sends one message, in fragments if there are pieces. */
  async send(bytes, { pieces, binary = false } = {}) {
    const parts = inPieces(bytes, pieces);
    for (const [index, part] of parts.entries()) {
      if (this.#socket.readyState !== WebSocket.OPEN) return;
      this.#socket.send(part, { binary, fin: index === parts.length - 1 });
      if (parts.length > 1) await turn();
    }
  }

  /** Bytes below the framing. */
  async noise(bytes) {
    this.#socket._socket?.write(bytes);
  }

  end() {
    this.#socket.close();
  }

  destroy() {
    this.#socket.terminate();
  }
}

function inPieces(bytes, pieces) {
  if (pieces === undefined || bytes.length === 0) return [bytes];
  const parts = cut(bytes, pieces);
  if (parts.length <= MAX_PIECES) return parts;
  return [...parts.slice(0, MAX_PIECES), Buffer.concat(parts.slice(MAX_PIECES))];
}
