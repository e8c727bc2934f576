import { WebSocket } from 'ws';
import { SallyportError } from '../errors/index.js';
import { Backlog } from './backlog.js';
import { EncodedJson } from './encoded-json.js';
import { Gate } from './gate.js';
import { Inbox } from './inbox.js';
import { decodeJson } from './json.js';
import {
  CLOSE_TIMEOUT_MS,
  CONNECT_TIMEOUT_MS,
  MAX_BACKLOG_BYTES,
  MAX_MESSAGE_BYTES,
  SEND_HIGH_WATER_BYTES,
} from './limits.js';
import { decodeJsonMessage, type JsonMessageOptions } from './ndjson.js';
import { printable } from './printable.js';
import { transportClosed } from './refused-send.js';
import type { CloseReason, Transport, Unsubscribe } from './transport.js';

/** Options for every `WebSocketServer` and client of ours: bounded, uncompressed, and no queue of unread fragments. */
export const WEBSOCKET_LIMITS = {
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  closeTimeout: CLOSE_TIMEOUT_MS,
  /** Fragments of one message: 64 MiB in frames of 4 KiB, the smallest any real client sends. */
  maxFragments: 16 * 1024,
  maxBufferedChunks: 64 * 1024,
} as const;

/** The longest reason that fits a close frame, in bytes. */
const MAX_CLOSE_REASON_BYTES = 123;

export interface WebSocketTransportOptions {
  /** How many bytes may wait for a peer that does not read. */
  readonly maxBacklogBytes?: number;
}

/** Carries JSON messages, one per text frame, over an open socket. Binary frames that hold UTF-8 JSON are accepted. */
export function webSocketTransport(
  socket: WebSocket,
  options: JsonMessageOptions & WebSocketTransportOptions = {},
): Transport<unknown, unknown> {
  return new WebSocketTransport<unknown, unknown>(
    socket,
    (data) => decodeJsonMessage(() => decodeJson(data, options.budget), options),
    (message) => (message instanceof EncodedJson ? message.document : JSON.stringify(message)),
    'text',
    options,
  );
}

/** Carries bytes, one binary frame per send, over an open socket. A text frame ends it. */
export function webSocketBytes(
  socket: WebSocket,
  options: WebSocketTransportOptions = {},
): Transport<Uint8Array, Uint8Array> {
  const decode = (data: Buffer, isBinary: boolean): Uint8Array => {
    if (!isBinary)
      throw new SallyportError('WIRE_SYNTAX', 'a text frame arrived where only binary frames are expected');
    return data;
  };
  return new WebSocketTransport<Uint8Array, Uint8Array>(socket, decode, (message) => message, 'binary', options);
}

class WebSocketTransport<In, Out> implements Transport<In, Out> {
  readonly #socket: WebSocket;
  readonly #decode: (data: Buffer, isBinary: boolean) => In;
  readonly #encode: (message: Out) => string | Uint8Array;
  readonly carriesJson?: true;
  readonly #frames: { readonly binary: boolean };
  readonly #backlog: Backlog;
  readonly #inbox: Inbox<In>;
  readonly #space = new Gate();

  constructor(
    socket: WebSocket,
    decode: (data: Buffer, isBinary: boolean) => In,
    encode: (message: Out) => string | Uint8Array,
    frames: 'text' | 'binary',
    options: WebSocketTransportOptions,
  ) {
    this.#frames = { binary: frames === 'binary' };
    if (frames === 'text') this.carriesJson = true;
    this.#socket = socket;
    this.#decode = decode;
    this.#encode = encode;
    this.#backlog = new Backlog(options.maxBacklogBytes ?? MAX_BACKLOG_BYTES);
    this.#inbox = new Inbox<In>({
      pause: () => this.#setFlow('pause'),
      resume: () => this.#setFlow('resume'),
      fail: (error) => this.#fail(error, 1011),
    });
    // Frames that came with the upgrade are read only when somebody listens.
    if (socket.readyState === WebSocket.OPEN) socket.pause();
    socket.binaryType = 'nodebuffer';
    socket.on('message', this.#onMessage);
    socket.on('close', this.#onClose);
    socket.on('error', this.#onError);
  }

  send(message: Out): void | Promise<void> {
    const closed = this.#inbox.closeReason;
    if (closed) throw transportClosed(closed.message);
    const waiting = this.#socket.bufferedAmount;
    this.#backlog.check(waiting);
    this.#socket.send(this.#encode(message), this.#frames, this.#onSent);
    const { bufferedAmount } = this.#socket;
    this.#backlog.sent(waiting, bufferedAmount - waiting);
    if (bufferedAmount < SEND_HIGH_WATER_BYTES) return;
    return this.#space.wait();
  }

  onMessage(handler: (message: In) => void | Promise<void>): Unsubscribe {
    return this.#inbox.onMessage(handler);
  }

  onClose(handler: (reason: CloseReason) => void): Unsubscribe {
    return this.#inbox.onClose(handler);
  }

  close(reason = 'closed by this side'): void {
    if (this.#inbox.closeReason) return;
    this.#closeSocket(1000, reason);
    this.#end({ kind: 'closed', message: reason });
  }

  terminate(): void {
    this.#inbox.abort({ kind: 'terminated', message: 'terminated by this side' });
    this.#space.open();
    this.#socket.terminate();
  }

  readonly #onMessage = (data: Buffer, isBinary: boolean): void => {
    // What comes after the end is for nobody.
    if (this.#inbox.closeReason) return;
    let message: In;
    try {
      message = this.#decode(data, isBinary);
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)), 1008);
      return;
    }
    this.#inbox.push(message);
  };

  readonly #onSent = (): void => {
    if (this.#socket.bufferedAmount < SEND_HIGH_WATER_BYTES) this.#space.open();
  };

  readonly #onClose = (code: number, reason: Buffer): void => {
    const words = reason.byteLength > 0 ? `: ${printable(reason.toString(), MAX_CLOSE_REASON_BYTES)}` : '';
    this.#end({ kind: 'peer-closed', message: `the peer closed the connection (${code}${words})` });
  };

  readonly #onError = (error: Error): void => {
    this.#end({ kind: 'error', message: error.message, error });
    this.#socket.terminate();
  };

  #fail(error: Error, code: number): void {
    this.#closeSocket(code, error.message);
    this.#end({ kind: 'error', message: error.message, error });
  }

  #setFlow(action: 'pause' | 'resume'): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket[action]();
  }

  #closeSocket(code: number, reason: string): void {
    // A paused socket would never see the peer's half of the closing handshake.
    this.#setFlow('resume');
    this.#socket.close(code, clipUtf8(reason, MAX_CLOSE_REASON_BYTES));
  }

  #end(reason: CloseReason): void {
    this.#inbox.finish(reason);
    this.#space.open();
  }
}

/** Cuts text to a number of UTF-8 bytes without splitting a character. */
function clipUtf8(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.byteLength <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}

export interface ConnectOptions {
  /** Sent as a bearer token. */
  readonly token?: string;
  readonly connectTimeoutMs?: number;
  /** Largest message that is received, in bytes. */
  readonly maxMessageBytes?: number;
  readonly signal?: AbortSignal;
}

/** Opens a WebSocket, or rejects with `WIRE_CONNECT` and the reason. The caller owns the socket. */
export function openWebSocket(url: string, options: ConnectOptions = {}): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const refuse = (reason: string): void =>
      reject(new SallyportError('WIRE_CONNECT', `cannot connect to ${printable(url)}: ${reason}`));
    if (options.signal?.aborted) return refuse('the caller gave up');
    let socket: WebSocket;
    try {
      socket = new WebSocket(url, {
        ...WEBSOCKET_LIMITS,
        maxPayload: options.maxMessageBytes ?? WEBSOCKET_LIMITS.maxPayload,
        handshakeTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
        ...(options.token === undefined ? {} : { headers: { authorization: `Bearer ${options.token}` } }),
      });
    } catch (error) {
      refuse(error instanceof Error ? error.message : String(error));
      return;
    }
    const onAbort = (): void => {
      refuse('the caller gave up');
      socket.terminate();
    };
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const settle = (): void => options.signal?.removeEventListener('abort', onAbort);
    socket.once('open', () => {
      settle();
      // Before anything else can be read: the first frames wait until somebody listens.
      socket.pause();
      socket.off('error', onError);
      resolve(socket);
    });
    const onError = (error: Error): void => {
      settle();
      refuse(printable(error.message));
    };
    socket.on('error', onError);
  });
}
