import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { sealStdio } from '../inherited-handles.js';
import type { Availability, Invocation } from '../level.js';
import { PROBE_TIMEOUT_MS } from '../limits.js';

/** What the refusals of the kernel mean, and what to do. */
const EXPLANATIONS: readonly (readonly [RegExp, string])[] = [
  [
    /setting up uid map|apparmor|RTM_NEWADDR/i,
    'AppArmor restricts user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap',
  ],
  [
    /mount proc|\/proc/i,
    'a process table of its own is forbidden: inside a container, run it with --security-opt systempaths=unconfined',
  ],
  [
    /No permissions to creat(?:e|ing) new namespace|Creating new namespace failed|clone|Operation not permitted/i,
    'user namespaces are forbidden: sysctl -w user.max_user_namespaces=15000 (and kernel.unprivileged_userns_clone=1); inside a container, run it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined',
  ],
  [/Unknown option/i, 'bubblewrap is too old: 0.8.0 or later is needed'],
];

/** Adds to what bubblewrap said how to get it to work. */
export function explainRefusal(message: string): string {
  const line = message.trim().split('\n')[0] ?? '';
  const advice = EXPLANATIONS.find(([pattern]) => pattern.test(line))?.[1];
  return advice === undefined ? line : `${line} (${advice})`;
}

/** Runs something harmless in a room: being installed proves nothing. */
export async function tryRoom(invocation: Invocation): Promise<Availability> {
  const child = spawn(invocation.file, invocation.args, {
    argv0: invocation.argv0,
    env: { NODE_V8_COVERAGE: undefined },
    cwd: invocation.cwd,
    stdio: sealStdio(['ignore', 'ignore', 'pipe', ...(invocation.handles ?? [])]),
    timeout: PROBE_TIMEOUT_MS,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? '' : `it ended with ${code ?? signal}`));
  });
  const said = child.stderr === null ? '' : await text(child.stderr);
  const how = await ended;
  if (how === '') return { available: true };
  return { available: false, reason: explainRefusal(said.trim() === '' ? how : said) };
}
