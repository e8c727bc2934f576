import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type * as Server from '../../src/server/index.js';

/** The built server: guests run from files that only the build makes. */
const BUILT: string = new URL('../../dist/server/index.js', import.meta.url).href;
export const { createServer, hashKey, subprotocolOf, SUBPROTOCOL }: typeof Server = await import(BUILT);

export const KEY = 'a-key-that-is-long-enough';
export const C_MODULES = fileURLToPath(new URL('../../examples/wasm/c', import.meta.url));
export const ZIG_MODULES = fileURLToPath(new URL('../../examples/wasm/zig', import.meta.url));

/** An answer, looked into by tests only. */
// biome-ignore lint/suspicious/noExplicitAny: tests assert on parts of answers whose shape is what they test.
export type Body = any;

export interface Started {
  readonly url: string;
  readonly server: Server.SallyportServer;
  json(path: string, body?: unknown, headers?: Record<string, string>): Promise<{ status: number; body: Body }>;
}

/** A folder that goes with the test. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-server-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts a server that ends with the test. */
export async function start(options: Partial<Server.ServerOptions> = {}): Promise<Started> {
  const server = await createServer({ port: 0, cacheDir: scratch(), prewarm: 'never', ...options });
  onTestFinished(() => server.dispose());
  const url = await server.listen();
  return {
    url,
    server,
    async json(path, body, headers = {}) {
      const response = await fetch(`${url}${path}`, {
        ...(body === undefined ? {} : { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) }),
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      });
      const text = await response.text();
      return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
    },
  };
}

/** Opens a WebSocket, or tells the status of the refusal. */
export function connect(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  protocols: string[] = [],
): Promise<WebSocket | number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, protocols, { headers });
    socket.once('open', () => resolve(socket));
    socket.once('unexpected-response', (_request, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
      socket.terminate();
    });
    socket.once('error', reject);
    onTestFinished(() => {
      socket.on('error', () => {});
      socket.terminate();
    });
  });
}

/** The same for tests that expect it to open. */
export async function opened(...args: Parameters<typeof connect>): Promise<WebSocket> {
  const socket = await connect(...args);
  if (typeof socket === 'number') throw new Error(`refused with ${socket}`);
  return socket;
}

/** Collects text frames as JSON until one fits. */
export function until(socket: WebSocket, fits: (message: Body) => boolean): Promise<Body[]> {
  return new Promise((resolve, reject) => {
    const messages: Body[] = [];
    socket.on('message', (data) => {
      const message = JSON.parse(String(data));
      messages.push(message);
      if (fits(message)) resolve(messages);
    });
    socket.once('close', (code, reason) => reject(new Error(`closed: ${code} ${reason}`)));
  });
}

/** The events of a text/event-stream body. */
export function eventsOf(text: string): { event: string; data: Body }[] {
  return text
    .split('\n\n')
    .filter((block) => block.includes('event: '))
    .map((block) => ({
      event: /^event: (.*)$/m.exec(block)?.[1] ?? '',
      data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? 'null'),
    }));
}
