import { fileURLToPath } from 'node:url';
import type { Spawner } from '../../sandbox/index.js';
import { ndjsonTransport } from '../../wire/index.js';
import { MESSAGE_BUDGET, PROCESS_HEAP_MIB, PROCESS_STACK_KIB } from '../limits.js';
import { type Shell, whenReady } from './shell.js';

const CHILD = fileURLToPath(new URL('../engine/child.bundle.js', import.meta.url));

/** Starts a child process with an engine in it: no environment, no handles but the one pipe that carries the protocol. */
export async function openProcessShell(spawner: Spawner, level: string): Promise<Shell> {
  const child = await spawner.spawn({
    argv: [process.execPath, `--stack-size=${PROCESS_STACK_KIB}`, `--max-old-space-size=${PROCESS_HEAP_MIB}`, CHILD],
    env: {},
    cwd: '/',
    stdio: { kind: 'pipes', stdin: 'null', extraPipes: 1 },
    level,
  });
  // Nothing that a guest does prints; what the runtime itself says at a crash is of no use to anybody here.
  for (const output of child.outputs) output.discard();
  const [pipe] = child.extraPipes;
  if (!pipe) throw new Error('the child has no pipe');
  const kill = (): void => void child.terminate();
  const transport = ndjsonTransport({
    readable: pipe.socket,
    writable: pipe.socket,
    budget: MESSAGE_BUDGET,
    onTerminate: kill,
  });
  return {
    transport,
    ready: whenReady(transport),
    gone: child.closed,
    occupy: () => child.eventLoop('hold'),
    vacate: () => child.eventLoop('release'),
    // A busy child reads no message. It keeps the time itself; what it does not end, the kill ends.
    interrupt: () => {},
    kill: () => transport.terminate(),
  };
}
