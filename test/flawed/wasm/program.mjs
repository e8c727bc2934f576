// A duplex-rpc guest with switches: without one it does what the suite asks for, with `--flaw NAME` it makes one mistake. It
// serves a WebSocket, one guest per connection, because a process for each check of each flaw takes minutes.
import { WebSocketServer } from 'ws';
import { createGuest } from './guest.mjs';

const flaws = process.argv.at(process.argv.indexOf('--flaw') + 1).split(',');
const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) => {
  const write = (bytes) => socket.send(Buffer.from(bytes), { binary: true });
  const { data } = createGuest({ write, exit: () => socket.terminate(), flaws });
  socket.on('message', (bytes) => data(bytes)).on('error', () => {});
});
server.on('listening', () => console.log(`ws://127.0.0.1:${server.address().port}`));
process.stdin.on('end', () => process.exit(0)).resume();
