import type { Duplex, Readable, Writable } from 'node:stream';
import type { ToolDefinitions, ToolProvider } from '../capabilities/index.js';
import { SallyportError } from '../errors/index.js';
import { type CloseReason, encodeFrame, frameTransport, type WireValue } from '../wire/index.js';
import { decodeMessage } from './decode-message.js';
import { grantTools, providerOf } from './grant.js';
import { completeLimits, type WasmLimits } from './limits.js';
import type { Message, OutgoingMessage } from './messages.js';
import { DuplexSession } from './session/session.js';
import type { CallLimits } from './session/types.js';

/** Where frames come from and go to: a socket, or standard input and output. */
export type DuplexStream = Duplex | { readonly readable: Readable; readonly writable: Writable };

export interface ServeDuplexOptions<Inputs extends Record<string, unknown>, Outputs extends Record<string, unknown>> {
  /** What the host may call: tool definitions, or plain functions of `(params, context)`. */
  readonly functions: ToolProvider | ToolDefinitions<Inputs, Outputs>;
  readonly limits?: Partial<WasmLimits>;
}

/** The guest side of a session. */
export interface DuplexServer {
  /** Resolves when the session has ended. Never rejects. */
  readonly closed: Promise<CloseReason>;
  /** Calls a function that the host grants. */
  call(functionName: string, params?: unknown, limits?: CallLimits): Promise<WireValue | undefined>;
  /** The same without an answer. */
  notify(functionName: string, params?: unknown): void;
  /** Ends the session; what was sent is still delivered. */
  close(): void;
}

/** Serves functions to a duplex-rpc host over a pair of byte streams, which it owns from now on. */
export function serveDuplex<
  Inputs extends Record<string, unknown> = Record<string, unknown>,
  Outputs extends Record<string, unknown> = Record<string, unknown>,
>(stream: DuplexStream, options: ServeDuplexOptions<Inputs, Outputs>): DuplexServer {
  const limits = completeLimits(options.limits);
  const budget = { bytes: limits.frameBytes, depth: limits.depth, values: limits.values };
  const { readable, writable } = sidesOf(stream);
  const transport = frameTransport<{ readonly message: Message; readonly bytes: number }, OutgoingMessage>({
    readable,
    writable,
    decode: (payload) => ({ message: decodeMessage(payload, budget), bytes: payload.length }),
    encode: (message) => encodeFrame(message, budget),
    limits: {
      maxFrameBytes: limits.frameBytes,
      maxBacklogBytes: limits.backlogBytes,
      frameTimeoutMs: limits.frameTimeoutMs,
    },
  });
  let timer: NodeJS.Timeout | undefined;
  const session = new DuplexSession({
    limits,
    grant: grantTools(providerOf(options.functions)),
    onForbidden: 'error',
    port: {
      send: (message) => transport.send(message),
      now: () => performance.now(),
      wake: (at) => {
        clearTimeout(timer);
        timer = setTimeout(
          () => {
            if (session.check() !== undefined) transport.terminate();
          },
          Math.min(Math.max(0, at - performance.now()), 0x7fffffff),
        ).unref();
      },
      broken: () => transport.terminate(),
    },
  });
  const closed = new Promise<CloseReason>((resolve) => {
    transport.onClose((reason) => {
      clearTimeout(timer);
      session.end(() => new SallyportError('WASM_DISPOSED', `the session has ended: ${reason.message}`));
      resolve(reason);
    });
  });
  transport.onMessage(({ message, bytes }) => session.receive(message, bytes));
  return {
    closed,
    call: (functionName, params, callLimits) => session.call(functionName, params, callLimits),
    notify: (functionName, params) => session.notify(functionName, params),
    close: () => transport.close(),
  };
}

function sidesOf(stream: DuplexStream): { readonly readable: Readable; readonly writable: Writable } {
  if ('pipe' in stream) return { readable: stream, writable: stream };
  return stream;
}
