// An exec-server with switches: without one it is Sallyport's, with `--flaw NAME` something between it and its client
// makes one mistake, or several with names that commas part. It listens on WebSocket, prints its address and ends with its input, or with `--stdio` it serves its
// standard input and output.
import { createExecServer } from '../../../dist/process/index.js';
import { listenWebSocket, memoryPair, ndjsonTransport, webSocketTransport } from '../../../dist/wire/index.js';
import { CARRIER_FLAWS } from './carrier-flaws.mjs';
import { FIRST_FLAWS } from './first-flaws.mjs';
import { LATER_FLAWS } from './later-flaws.mjs';

const FLAWS = { none: {}, ...FIRST_FLAWS, ...LATER_FLAWS, ...CARRIER_FLAWS };
const names = process.argv.at(process.argv.indexOf('--flaw') + 1).split(',');
const flaws = names.map((name) => {
  if (FLAWS[name] === undefined) throw new Error(`no flaw ${name}`);
  return FLAWS[name];
});

const server = createExecServer();
const connections = new Set();

/** Sends unless the other side is gone, which a mistake that takes time finds out late. */
function deliver(transport, message) {
  try {
    void transport.send(message);
  } catch {}
}

/** Serves one client through the flaw. What passes by is remembered, so that an answer knows its request. */
function serve(outer) {
  const [near, far] = memoryPair();
  server.serveConnection(far);
  const requests = new Map();
  const asked = new Map();
  const connection = {
    state: {},
    others: () => [...connections].filter((other) => other !== connection),
    say: (message) => deliver(outer, message),
    tell: (message) => deliver(near, message),
    requestOf: (answer) => requests.get(answer.id),
    processes: () => [...requests.values()].filter(({ method }) => method === 'process/start'),
    /** Sends a request of the flaw's own and gives the answer. */
    ask: (method, params) =>
      new Promise((resolve) => {
        const id = `flaw-${asked.size}`;
        asked.set(id, resolve);
        near.send({ id, method, params });
      }),
  };
  connections.add(connection);
  const pass = (direction, message, on) => {
    let messages = [message];
    for (const flaw of flaws) messages = messages.flatMap((one) => flaw[direction]?.(one, connection) ?? one);
    for (const one of messages) on(one);
  };
  outer.onMessage((message) => {
    if (message.method !== undefined && message.id !== undefined) requests.set(message.id, message);
    pass('toServer', message, connection.tell);
  });
  near.onMessage((message) => {
    const resolve = asked.get(message.id);
    if (resolve !== undefined) resolve(message);
    else pass('toClient', message, connection.say);
  });
  outer.onClose(async () => {
    connections.delete(connection);
    const answers = await Promise.all(flaws.map((flaw) => flaw.onLeave?.(connection)));
    if (!answers.includes('stay')) near.close();
  });
  near.onClose(({ message }) => outer.close(message));
  return outer;
}

if (process.argv.includes('--stdio')) {
  const readable = flaws.reduce((input, flaw) => flaw.onInput?.(input) ?? input, process.stdin);
  const outer = serve(ndjsonTransport({ ...server.transportOptions, readable, writable: process.stdout }));
  outer.onClose(() => leave(flaws.find(({ atEnd }) => atEnd)?.atEnd));
} else {
  const allowedOrigins = flaws.flatMap((flaw) => flaw.allowedOrigins ?? []);
  const address = { host: '127.0.0.1', port: 0, allowedOrigins };
  const listener = await listenWebSocket(address, (socket) => {
    for (const flaw of flaws) flaw.onSocket?.(socket);
    serve(webSocketTransport(socket, server.transportOptions));
  });
  console.log(listener.url);
  process.stdin.resume().on('end', () => leave());
}

async function leave(instead = () => process.exit(0)) {
  await server.dispose();
  instead();
}
