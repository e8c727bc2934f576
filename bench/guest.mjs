// Guests: what one execution costs, next to two other ways to run untrusted JavaScript.
//
//   node bench/guest.mjs --peers     with the peers, which are fetched once
//   node bench/guest.mjs             our own isolation levels only
import { execFileSync } from 'node:child_process';
import { defineTools } from '../dist/capabilities/index.js';
import { createExecutor } from '../dist/guest/index.js';
import { bench, report } from './harness.mjs';
import * as peers from './peers.mjs';

const tools = defineTools('tools', {
  add: { input: { type: 'object', required: ['a', 'b'] }, execute: ({ a, b }) => a + b },
  echo: (input) => input,
});
const LIMITS = { timeoutMs: 10_000, memoryLimitBytes: 64 * 1024 * 1024 };

const threads = createExecutor({ isolation: 'thread', size: 2, limits: LIMITS });
const processes = createExecutor({ isolation: 'process', size: 2, limits: LIMITS });
const inline = createExecutor({ isolation: 'inline', size: 1, limits: LIMITS });
await Promise.all([threads.prewarm(), processes.prewarm(), inline.prewarm()]);

const use = (executor) => async (code) => {
  const result = await executor.execute(code, tools);
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.result;
};
const ours = {
  'sallyport, threads': use(threads),
  'sallyport, processes': use(processes),
  'sallyport, inline': use(inline),
};
const others = peers.wanted ? await loadPeers() : {};
const sides = (pick) =>
  Object.fromEntries(Object.entries({ ...ours, ...others }).map(([name, run]) => [name, pick(run)]));

const NO_TOOLS = 'return 1 + 1';
const ONE_CALL = 'return await tools.add({ a: 1, b: 1 })';
const HUNDRED_CALLS = 'let s = 0; for (let i = 0; i < 100; i += 1) s = await tools.add({ a: s, b: 1 }); return s';
const ECHO = 'return (await tools.echo("x".repeat(1e6))).length';

await bench('one program, no tools', {
  sides: sides((run) => () => run(NO_TOOLS)),
  iterations: 20,
  rounds: 40,
  warmup: 30,
});
await bench('100 tool calls, one after another', {
  sides: sides((run) => () => run(HUNDRED_CALLS)),
  iterations: 1,
  rounds: 40,
  warmup: 20,
});
await bench('one tool call, 16 programs at once', {
  sides: sides((run) => () => Promise.all(Array.from({ length: 16 }, () => run(ONE_CALL)))),
  operations: 16,
  iterations: 4,
  rounds: 40,
});
await bench('a string of 1 MB to a tool and back', {
  sides: sides((run) => () => run(ECHO)),
  iterations: 1,
  rounds: 30,
  bytes: 2e6,
});

await Promise.all([threads.dispose(), processes.dispose(), inline.dispose()]);
report();
if (!process.argv.includes('--json')) {
  console.log(`\nfirst run in a fresh process, after the import: ${fresh('first')} ms (median of 9)`);
  console.log(`memory of one more idle shell (thread): ${fresh('memory')} MB (median of 9)`);
}
process.exit(0);

/** A figure that only a fresh process can give. */
function fresh(what) {
  const script = new URL('./guest-fresh.mjs', import.meta.url).pathname;
  const samples = Array.from({ length: 9 }, () =>
    Number(execFileSync(process.execPath, ['--expose-gc', script, what], { env: {} })),
  );
  return samples.sort((a, b) => a - b)[4].toFixed(1);
}

async function loadPeers() {
  peers.install({ run: '2.1.5', 'quickjs-emscripten': '0.32.0' });
  const { createRunner } = await peers.load('run');
  const runner = createRunner({ limits: LIMITS });
  const hostFunctions = { tools: { add: ({ a, b }) => a + b, echo: (input) => input } };
  const { getQuickJS } = await peers.load('quickjs-emscripten');
  const engine = await getQuickJS();
  return {
    "Vercel's run 2.1.5": async (source) => {
      const result = await runner.run({ source, hostFunctions });
      if (result.status !== 'completed') throw new Error(JSON.stringify(result));
      return result.value;
    },
    // A context per run, no thread and no time limit: the least that a hand-made sandbox does.
    'quickjs-emscripten 0.32.0, bare': (source) => runBare(engine, source),
  };
}

async function runBare(engine, source) {
  const runtime = engine.newRuntime();
  runtime.setMemoryLimit(LIMITS.memoryLimitBytes);
  const context = runtime.newContext();
  const namespace = context.newObject();
  for (const [name, tool] of Object.entries({ add: ({ a, b }) => a + b, echo: (input) => input })) {
    const fn = context.newFunction(name, (input) => {
      const promise = context.newPromise();
      Promise.resolve(tool(context.dump(input))).then((value) => {
        const text = context.newString(JSON.stringify(value));
        const json = context.getProp(context.global, 'JSON');
        const parse = context.getProp(json, 'parse');
        const parsed = context.unwrapResult(context.callFunction(parse, json, text));
        promise.resolve(parsed);
        for (const handle of [text, json, parse, parsed]) handle.dispose();
        runtime.executePendingJobs();
      });
      return promise.handle;
    });
    context.setProp(namespace, name, fn);
    fn.dispose();
  }
  context.setProp(context.global, 'tools', namespace);
  namespace.dispose();
  const handle = context.unwrapResult(context.evalCode(`(async () => { ${source} })()`));
  const settled = context.resolvePromise(handle);
  runtime.executePendingJobs();
  const result = context.unwrapResult(await settled);
  const value = context.dump(result);
  result.dispose();
  handle.dispose();
  context.dispose();
  runtime.dispose();
  return value;
}
