import { parentPort, workerData } from 'node:worker_threads';
import { portTransport } from '../../wire/index.js';
import type { EngineModules } from '../engine/modules.js';
import { READY } from '../host/shell.js';
import { ENGINE_STACK_BYTES } from '../limits.js';
import type { RunnerMessage } from '../messages.js';
import { RunnerCore } from './runner-core.js';

/** What a guest thread is started with. */
export interface ThreadData {
  readonly modules: EngineModules;
  /** Not 0 once the guest that runs now is to stop. */
  readonly flag: Int32Array;
}

if (parentPort) {
  const { modules, flag } = workerData as ThreadData;
  const transport = portTransport<object, RunnerMessage | typeof READY>(parentPort);
  const runner = new RunnerCore(transport, {
    modules,
    stackBytes: ENGINE_STACK_BYTES,
    aborted: () => Atomics.load(flag, 0) !== 0,
  });
  await runner.prewarm();
  void transport.send(READY);
}
