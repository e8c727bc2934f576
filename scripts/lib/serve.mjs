// Starts the built command from the outside, the way a user does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const COMMAND = join(ROOT, 'dist', 'cli', 'main.js');
/** How long a server may take to say where it listens: seconds on a machine that is busy with everything else. */
const START_MS = 30_000;
const KEPT_CHARS = 100_000;

const running = new Set();
// Whatever ends this program must not leave servers behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** Starts `sallyport <args>` and keeps what it says. `exit` resolves when it is gone. */
export function startCommand(args, { env = {}, execArgv = [], onLine = () => {}, ...options } = {}) {
  const child = spawn(process.execPath, [...execArgv, COMMAND, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '', HOME: '/tmp', ...env },
    ...options,
  });
  const said = { stderr: '', exited: undefined };
  running.add(child);
  child.stdin.on('error', () => {});
  child.stderr.setEncoding('utf8').on('data', (text) => {
    said.stderr = (said.stderr + text).slice(-KEPT_CHARS);
    onLine(text);
  });
  const exit = once(child, 'exit').then(([code, signal]) => {
    running.delete(child);
    said.exited = { code, signal };
    return said.exited;
  });
  return { child, said, exit };
}

/** Starts `sallyport serve` on any free port and waits until it says which. `onLog` hears every line of its log. */
export async function startServer(args, { onLog = () => {}, ...options } = {}) {
  const command = startCommand(['serve', '--port', '0', ...args], options);
  const { child, said, exit } = command;
  let url;
  let rest = '';
  const listening = new Promise((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (url === undefined) {
          url = /"url":"([^"]+)"/.exec(line)?.[1];
          if (url !== undefined) resolve();
        }
        onLog(line);
      }
    });
  });
  const patience = new AbortController();
  await Promise.race([
    listening,
    exit.then(() => Promise.reject(new Error(`the server ended at its start: ${said.stderr}`))),
    new Promise((_, reject) => {
      const timer = setTimeout(() => reject(new Error(`no server after ${START_MS} ms: ${said.stderr}`)), START_MS);
      patience.signal.addEventListener('abort', () => clearTimeout(timer));
    }),
  ])
    .catch((error) => {
      child.kill('SIGKILL');
      throw error;
    })
    .finally(() => patience.abort());
  return { ...command, url, socketUrl: url.replace('http', 'ws') };
}

/** Ends what was started: politely, then not. */
export async function stopCommand({ child, exit }, graceMs = 10_000) {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  const status = await exit;
  clearTimeout(timer);
  return status;
}
