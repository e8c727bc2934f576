/**
 * What the host under test starts as its guest: a program that hands its standard input and output to the suite, over
 * loopback. It holds on to life when its input ends, as a hostile guest would: only being ended counts as being ended.
 * Two connections, because a pipe that is closed and a process that is gone look the same on one. An id says which two belong
 * together: where guests have rooms of their own, each of them may be process 2.
 */
const SCRIPT = `
const { connect } = require('node:net');
const id = require('node:crypto').randomUUID();
const [port, key] = process.argv.slice(1);
const open = (kind) => {
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  socket.write(kind + ' ' + key + ' ' + id + ' ' + process.pid + '\\n');
  return socket.on('error', () => process.exit(0));
};
open('life').on('data', (code) => process.exit(code[0])).on('end', () => process.exit(0));
const data = open('data');
process.stdin.pipe(data);
data.pipe(process.stdout, { end: false });
process.stdout.on('error', () => {});
process.on('SIGTERM', () => {});
`;

/** The command of a guest that the suite plays. */
export function relayCommand(port: number, key: string): string[] {
  return [process.execPath, '-e', SCRIPT, String(port), key];
}
