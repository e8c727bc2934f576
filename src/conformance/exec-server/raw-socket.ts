import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import { openWebSocket } from '../../wire/index.js';
import { CheckFailed, NotApplicable } from '../check.js';
import type { CheckContext } from '../context.js';

/** Sends one text frame on a connection of its own and gives the first frame that comes back, with its kind. */
export async function openingFrame(context: CheckContext, message: string): Promise<{ kind: string; text: string }> {
  const { url, token } = urlOf(context);
  const { deadline, transcript } = context;
  const socket = await openWebSocket(url, { signal: deadline.signal, ...(token === undefined ? {} : { token }) });
  context.defer(() => socket.terminate());
  socket.on('error', () => {});
  transcript.add('suite', message);
  const frame = new Promise<{ kind: string; text: string }>((resolve) => {
    socket.once('message', (data: Buffer, isBinary: boolean) => {
      const kind = isBinary ? 'binary' : 'text';
      transcript.add('target', `${kind} frame: ${data}`);
      resolve({ kind, text: String(data) });
    });
  });
  socket.resume();
  socket.send(message);
  const expected = 'an answer to initialize';
  return deadline.wait(frame, () => new CheckFailed({ expected, cameBack: `nothing within ${deadline.limitMs} ms` }));
}

/** Asks for a WebSocket as a web page would, which knows no token, and gives the status of the answer: 101 is a yes. */
export async function upgradeStatus(context: CheckContext, origin: string): Promise<number> {
  const { url } = urlOf(context);
  const { deadline, transcript } = context;
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    origin,
    'sec-websocket-version': '13',
    'sec-websocket-key': Buffer.alloc(16, 'key').toString('base64'),
  };
  const send = url.startsWith('wss:') ? secureRequest : request;
  transcript.add('suite', `GET ${url} with Origin: ${origin}`);
  const asked = new Promise<number>((resolve, reject) => {
    const sent = send(url.replace(/^ws/, 'http'), { headers, signal: deadline.signal, agent: false });
    // What was asked for may be answered without end.
    context.defer(() => void sent.destroy());
    sent.once('upgrade', (response, socket) => {
      socket.destroy();
      resolve(response.statusCode ?? 0);
    });
    sent.once('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end();
  });
  const expected = 'an answer to the upgrade';
  const status = await asked.catch((error: Error) => {
    throw new CheckFailed({ expected, cameBack: error.message });
  });
  transcript.add('target', `HTTP ${status}`);
  return status;
}

function urlOf({ target }: CheckContext): { url: string; token: string | undefined } {
  if (target.kind !== 'url') throw new NotApplicable('it takes a ws: address');
  return { url: target.url, token: target.token };
}
