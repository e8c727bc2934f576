// Start-to-exit latency of `true`, and start-to-closed through a terminal, beside bare child_process.spawn.
import { spawn } from 'node:child_process';
import { createSpawner } from '../dist/sandbox/index.js';

const RUNS = Number(process.argv[2] ?? 200);
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const spawner = createSpawner();
const env = { PATH: '/usr/bin:/bin' };

const bare = () =>
  new Promise((resolve) => {
    const child = spawn('/bin/true', [], { env, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.resume();
    child.stderr.resume();
    child.once('exit', resolve);
  });
const through = (stdio, settled) => async () => {
  const child = await spawner.spawn({ argv: ['/bin/true'], env, cwd: '/', stdio, level: 'process' });
  for (const output of child.outputs) output.discard();
  await child[settled];
};
const cases = {
  'child_process.spawn, exit': bare,
  'spawner, pipes, exit': through({ kind: 'pipes', stdin: 'null' }, 'exited'),
  'spawner, pipes, drained': through({ kind: 'pipes', stdin: 'null' }, 'drained'),
  'spawner, terminal, exit': through({ kind: 'terminal', rows: 24, cols: 80 }, 'exited'),
  'spawner, terminal, closed': through({ kind: 'terminal', rows: 24, cols: 80 }, 'closed'),
};
const times = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
// Interleaved, so that noise of the machine hits all alike.
for (let run = -10; run < RUNS; run += 1) {
  for (const [name, once] of Object.entries(cases)) {
    const started = performance.now();
    await once();
    if (run >= 0) times[name].push(performance.now() - started);
  }
}
for (const [name, values] of Object.entries(times)) console.log(`${median(values).toFixed(2).padStart(7)} ms  ${name}`);
await spawner.dispose();
