import { Worker } from 'node:worker_threads';
import { portTransport } from '../../wire/index.js';
import { engineModules } from '../engine/modules.js';
import { THREAD_HEAP_MIB, THREAD_STACK_MIB } from '../limits.js';
import type { HostMessage } from '../messages.js';
import type { ThreadData } from '../runner/thread.js';
import { type Shell, whenReady } from './shell.js';

/** Starts a worker thread with an engine in it. */
export async function openThreadShell(): Promise<Shell> {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const data: ThreadData = { modules: await engineModules(), flag };
  const worker = new Worker(new URL('../engine/thread.bundle.js', import.meta.url), {
    workerData: data,
    env: {},
    execArgv: [],
    stdin: false,
    name: 'sallyport-guest',
    resourceLimits: { stackSizeMb: THREAD_STACK_MIB, maxOldGenerationSizeMb: THREAD_HEAP_MIB },
  });
  const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const kill = (): void => {
    // Somebody waits for its end, even if nobody waited for what it does.
    worker.ref();
    void worker.terminate();
  };
  const transport = portTransport<object, HostMessage>(worker, { onTerminate: kill });
  return {
    transport,
    ready: whenReady(transport),
    gone,
    occupy: () => {
      Atomics.store(flag, 0, 0);
      worker.ref();
    },
    vacate: () => worker.unref(),
    interrupt: () => void Atomics.store(flag, 0, 1),
    kill: () => transport.terminate(),
  };
}
