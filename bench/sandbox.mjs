// Children: what sessions, registration and sealed handles cost beside a bare spawn, and how fast a terminal is.
import { spawn } from 'node:child_process';
import { containerLevel, createSpawner, GUEST_POLICY, processLevel } from '../dist/sandbox/index.js';
import { bench, report } from './harness.mjs';

const room = containerLevel({ policy: GUEST_POLICY });
const rooms = await room.probe();
const spawner = createSpawner({ levels: new Map([processLevel, room].map((level) => [level.name, level])) });
const env = { PATH: '/usr/bin:/bin' };
const pipes = { kind: 'pipes', stdin: 'null' };
const terminal = { kind: 'terminal', rows: 24, cols: 80 };

const bare = () =>
  new Promise((resolve) => {
    const child = spawn('/bin/true', [], { env, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.resume();
    child.stderr.resume();
    child.once('exit', resolve);
  });
const through =
  (stdio, settled, level = 'process') =>
  async () => {
    const child = await spawner.spawn({ argv: ['/bin/true'], env, cwd: '/', stdio, level });
    for (const output of child.outputs) output.discard();
    await child[settled];
  };
await bench('start `true` and wait for its exit', {
  sides: {
    'child_process.spawn': bare,
    'spawner, pipes': through(pipes, 'exited'),
    'spawner, pipes, drained': through(pipes, 'drained'),
    // One exec more, of setsid.
    'spawner, terminal': through(terminal, 'exited'),
    'spawner, terminal, closed': through(terminal, 'closed'),
  },
  iterations: 10,
});

// The promise: a confined start within 8 ms of an unconfined one at the median.
if (rooms.available) {
  await bench('start `true` in a room and wait for its exit', {
    sides: { process: through(pipes, 'exited'), container: through(pipes, 'exited', 'container') },
    iterations: 5,
  });
} else console.error(`no rooms here: ${rooms.reason}`);

/** A child that sends back whatever it is sent, and a function that sends and waits for all of it. */
async function echo(stdio, script) {
  const child = await spawner.spawn({ argv: ['sh', '-c', script], env, cwd: '/', stdio, level: 'process' });
  let missing = 'ready\n'.length;
  let done;
  const all = new Promise((resolve) => {
    done = resolve;
  });
  child.outputs[0].onData((chunk) => {
    missing -= chunk.length;
    if (missing === 0) done();
  });
  child.outputs[1]?.discard();
  await all;
  return (bytes) =>
    new Promise((resolve, reject) => {
      missing = bytes.length;
      done = resolve;
      child.input.write(bytes).catch(reject);
    });
}
const piped = await echo({ kind: 'pipes', stdin: 'pipe' }, 'echo ready; exec cat');
const typed = await echo(terminal, 'stty raw -echo; echo ready; exec cat');
const key = Buffer.from('x');
await bench('one byte there and back', {
  sides: { 'cat, pipes': () => piped(key), 'cat, terminal': () => typed(key) },
  iterations: 50,
});
const paste = Buffer.alloc(1024 * 1024, 'x');
await bench('a mebibyte there and back', {
  sides: { 'cat, pipes': () => piped(paste), 'cat, terminal': () => typed(paste) },
  iterations: 1,
  bytes: paste.length,
});

await spawner.dispose();
report();
