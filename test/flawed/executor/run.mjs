import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure } from './failure.mjs';
import { root } from './install.mjs';

const CHILD = fileURLToPath(new URL('./tool-child.mjs', import.meta.url));
const kept = {};

/** Groups that may have somebody in them. Whatever its flaws are, this program leaves nobody behind, and no file. */
const groups = new Set();
process.prependListener('exit', () => {
  for (const group of groups) end(group, 'group');
});

/** Runs a tool in a process, with a temporary folder of its own, and ends everything that it started. */
export async function run({ folder, name, params, env, timeoutMs, flaw }) {
  const is = (other) => flaw.split(',').includes(other);
  const temporary = mkdtempSync(join(root, 'tool-'));
  if (is('keeps-env')) Object.assign(kept, env);
  const given = is('no-env') ? {} : { ...kept, ...env };
  const inherited = is('own-environment') ? process.env : {};
  const child = fork(CHILD, [], {
    env: { ...inherited, TMPDIR: temporary, PATH: process.env.PATH, ...given },
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    detached: true,
  });
  groups.add(child.pid);
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += chunk;
  });
  const late = is('wrong-timeout-code') ? 'TOOL_EXECUTION_ERROR' : 'EXECUTION_TIMEOUT';
  try {
    const outcome = await new Promise((resolve) => {
      const timer = setTimeout(() => resolve({ code: late, message: 'it took too long' }), timeoutMs);
      child.once('message', resolve);
      child.once('exit', () => {
        clearTimeout(timer);
        const gone = { code: 'TOOL_EXECUTION_ERROR', message: 'the tool has left' };
        resolve(is('exit-is-success') ? { output: null } : gone);
      });
      child.send({ folder, name, params, flaw });
    });
    if (outcome.code !== undefined) throw new Failure(outcome.code, outcome.message);
    return is('result-from-output') && printed !== '' ? JSON.parse(printed) : outcome.output;
  } finally {
    end(child.pid, is('keeps-processes') ? 'alone' : 'group');
    if (!is('keeps-processes')) groups.delete(child.pid);
    if (!is('keeps-files')) rmSync(temporary, { recursive: true, force: true });
  }
}

function end(pid, what) {
  try {
    process.kill(what === 'group' ? -pid : pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
