import { memoryPair } from '../../wire/index.js';
import { engineModules } from '../engine/modules.js';
import { INLINE_STACK_BYTES } from '../limits.js';
import type { HostMessage, RunnerMessage } from '../messages.js';
import { RunnerCore } from '../runner/runner-core.js';
import type { Shell } from './shell.js';

/** Runs the engine on the caller's own thread, for tests and tiny uses: a guest that is busy blocks the caller. */
export async function openInlineShell(): Promise<Shell> {
  const [transport, far] = memoryPair<RunnerMessage, HostMessage>();
  const runner = new RunnerCore(far, { modules: await engineModules(), stackBytes: INLINE_STACK_BYTES });
  await runner.prewarm();
  const gone = new Promise<void>((resolve) => transport.onClose(() => resolve()));
  return {
    transport,
    ready: Promise.resolve(),
    gone,
    occupy: () => {},
    vacate: () => {},
    interrupt: () => {},
    kill: () => transport.terminate(),
  };
}
