import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { ServerLimits } from '../limits.js';
import { problemBody } from './problem.js';

/** The connections of a server: how many there are, of whom, and what went over them. */
export class Connections {
  readonly #limits: ServerLimits;
  readonly #perAddress = new Map<string, number>();
  readonly #open = new Set<Socket>();
  #bytesRead = 0;
  #bytesWritten = 0;
  #refused = 0;

  constructor(server: Server, limits: ServerLimits) {
    this.#limits = limits;
    server.maxConnections = limits.connections;
    server.on('drop', () => {
      this.#refused += 1;
    });
    server.on('connection', (socket: Socket) => this.#onConnection(socket));
  }

  get size(): number {
    return this.#open.size;
  }

  get refused(): number {
    return this.#refused;
  }

  get bytesRead(): number {
    let total = this.#bytesRead;
    for (const socket of this.#open) total += socket.bytesRead;
    return total;
  }

  get bytesWritten(): number {
    let total = this.#bytesWritten;
    for (const socket of this.#open) total += socket.bytesWritten;
    return total;
  }

  /** Ends all of them, now. */
  destroyAll(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #onConnection(socket: Socket): void {
    const limit = this.#limits.connectionsPerAddress;
    const address = socket.remoteAddress ?? '';
    const count = (this.#perAddress.get(address) ?? 0) + 1;
    this.#perAddress.set(address, count);
    this.#open.add(socket);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#bytesRead += socket.bytesRead;
      this.#bytesWritten += socket.bytesWritten;
      const left = (this.#perAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#perAddress.delete(address);
      else this.#perAddress.set(address, left);
    });
    if (count <= limit) return;
    this.#refused += 1;
    const message = `${address} has ${limit} connections open already`;
    const body = JSON.stringify(problemBody({ status: 503, code: 'OVERLOADED', message }));
    const head =
      'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8';
    socket.on('error', () => {});
    socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`, () => socket.destroy());
  }
}
