import { openWebSocket, printable } from '../../wire/index.js';
import type { CheckContext } from '../context.js';
import type { Channel, Ending } from './channel.js';
import type { Target } from './target.js';

/** Normal, going away, and a close without a code. */
const POLITE_CODES: ReadonlySet<number> = new Set([1000, 1001, 1005]);

/** Connects to the address. The connection is cut with the check. */
export async function openSocket(context: CheckContext, target: Extract<Target, { kind: 'url' }>): Promise<Channel> {
  const { url, token } = target;
  const socket = await openWebSocket(url, {
    signal: context.deadline.signal,
    ...(token === undefined ? {} : { token }),
  });
  context.transcript.add('note', `connected to ${url}`);
  let ending: Ending | undefined;
  const listeners = new Set<(ending: Ending) => void>();
  const finish = (end: Ending): void => {
    if (ending !== undefined) return;
    ending = end;
    context.transcript.add('note', end.text);
    for (const listener of listeners) listener(end);
  };
  socket.on('close', (code: number, reason: Buffer) => {
    const words = reason.length === 0 ? '' : `: ${printable(reason.toString())}`;
    finish({ crashed: !POLITE_CODES.has(code), text: `the connection was closed with code ${code}${words}` });
  });
  socket.on('error', (error: Error) =>
    finish({ crashed: true, text: `the connection failed: ${printable(error.message)}` }),
  );
  context.defer(() => socket.terminate());
  return {
    carrier: 'frames',
    send: (data) => {
      if (ending === undefined) socket.send(data, { binary: typeof data !== 'string' });
    },
    onData: (handler) => {
      socket.binaryType = 'nodebuffer';
      socket.on('message', (data: Buffer) => handler(data));
      socket.resume();
    },
    onEnd: (handler) => {
      if (ending === undefined) listeners.add(handler);
      else handler(ending);
    },
    end: () => socket.close(1000),
  };
}
