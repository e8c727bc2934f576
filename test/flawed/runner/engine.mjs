// Where the programs of the flawed runner run: most in a context of this thread, which starts at once; those that never
// yield in a worker, which can be ended. Nothing of it confines anybody.
import { readFileSync } from 'node:fs';
import { createContext, Script } from 'node:vm';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { parse as parseProgram } from 'acorn';

const SCRIPT = new Script(readFileSync(new URL('./guest.cjs', import.meta.url), 'utf8'));

/** The range of a program's last expression, if it ends with one. */
function parse(code) {
  const { body } = parseProgram(code, { ecmaVersion: 'latest', allowAwaitOutsideFunction: true });
  const last = body.at(-1);
  return last?.type === 'ExpressionStatement' ? last.expression : undefined;
}

/** Starts an engine: `send` takes messages for the guest, `end` ends it. */
export function startEngine(code, flaws, onMessage, onError) {
  if (code.includes('for (;;)')) return startWorker(flaws, onMessage, onError);
  let ended = false;
  const post = (text) => setImmediate(() => ended || onMessage(JSON.parse(text)));
  const receive = SCRIPT.runInContext(createContext())({ post, parse, flaws });
  return {
    send: (message) => receive(JSON.stringify(message)),
    end: () => {
      ended = true;
    },
  };
}

function startWorker(flaws, onMessage, onError) {
  const resourceLimits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 };
  const worker = new Worker(new URL(import.meta.url), { workerData: flaws, resourceLimits });
  worker.on('message', (text) => onMessage(JSON.parse(text)));
  worker.on('error', onError);
  return {
    send: (message) => worker.postMessage(JSON.stringify(message)),
    end: () => {
      worker.removeAllListeners();
      worker.on('error', () => {});
      void worker.terminate();
    },
  };
}

if (!isMainThread) {
  const post = (text) => parentPort.postMessage(text);
  parentPort.on('message', SCRIPT.runInThisContext()({ post, parse, flaws: workerData }));
}
