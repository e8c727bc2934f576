import type { WebSocket } from 'ws';

/** Pings per idle time: three may go unanswered, the fourth finds the peer gone. */
const PINGS = 4;

/** Finds out about peers that are gone without a word. One that is held up by us, or still takes what we send, is not. */
export function watchLiveness(socket: WebSocket, idleMs: number): void {
  let silent = 0;
  let waitedFor = 0;
  const heard = (): void => {
    silent = 0;
  };
  const timer = setInterval(() => {
    const { bufferedAmount } = socket;
    if (socket.isPaused || (bufferedAmount > 0 && bufferedAmount < waitedFor)) heard();
    waitedFor = bufferedAmount;
    silent += 1;
    if (silent > PINGS) return socket.terminate();
    if (socket.readyState === socket.OPEN && bufferedAmount === 0) socket.ping();
  }, idleMs / PINGS).unref();
  socket.on('message', heard);
  socket.on('pong', heard);
  socket.on('ping', heard);
  socket.once('close', () => clearInterval(timer));
}
