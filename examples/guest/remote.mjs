// Runs programs on a runner behind a WebSocket, with tools that stay here.
// From a clone: npm ci && npm run build && node examples/guest/remote.mjs
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { defineTools } from 'sallyport/capabilities';
import { createRemoteExecutor } from 'sallyport/guest';

// The runner, on any free port of this machine. Elsewhere it would be started by somebody else.
const token = randomUUID();
const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const runner = spawn(process.execPath, [command, 'runner', '--listen', 'ws://127.0.0.1:0'], {
  env: { EXECUTOR_API_KEY: token },
  stdio: ['ignore', 'ignore', 'pipe'],
});
const [line] = await once(createInterface({ input: runner.stderr }), 'line');
const url = line.split(' ').at(-1);

const host = defineTools('host', { greet: ({ name }) => `hello, ${name}` });

const executor = createRemoteExecutor({ url, token });
const result = await executor.execute(`await host.greet({ name: 'runner' })`, host);
console.log(result.ok ? result.result : result.error);

// Without the token nothing is upgraded.
const stranger = createRemoteExecutor({ url });
const refused = await stranger.execute('1 + 1');
console.log(refused.ok ? refused.result : refused.error.code);

await Promise.all([executor.dispose(), stranger.dispose()]);
runner.kill();
const [code] = await once(runner, 'exit');
console.log(`the runner ended with ${code}`);

// Prints:
// hello, runner
// internal_error
// the runner ended with 0
