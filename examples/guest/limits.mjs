// Stops programs that run too long, take too much or are no longer wanted, and shows what is reported meanwhile.
// From a clone: npm ci && npm run build && node examples/guest/limits.mjs
import { defineTools } from 'sallyport/capabilities';
import { createExecutor } from 'sallyport/guest';

const executor = createExecutor({ isolation: 'process', size: 1, limits: { timeoutMs: 2_000 } });

async function attempt(title, code, options) {
  const result = await executor.execute(code, [], options);
  console.log(`${title}: ${result.ok ? JSON.stringify(result.result) : result.error.code}`);
}

await attempt('an endless loop', 'for (;;) {}', { timeoutMs: 100 });
await attempt('a hungry one', 'const all = []; for (;;) all.push(new Array(1000).fill(0))', {
  memoryLimitBytes: 4_000_000,
});
await attempt('too deep', 'const dive = () => dive() + 1; dive()');
await attempt('a liar', `throw Object.assign(new Error('Execution timed out'), { code: 'timeout' })`);
await attempt('the next one', `'as if nothing had happened'`);

// Cancellation reaches the tool that the program waits for.
const slow = defineTools('slow', {
  wait: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        console.log('the tool hears of it');
        reject(signal.reason);
      });
    }),
});
const controller = new AbortController();
const cancelled = await executor.execute('console.log("waiting"); await slow.wait()', slow, {
  signal: controller.signal,
  onEvent: (event) => {
    if (event.type === 'log') console.log(`log: ${event.line}`);
    if (event.type === 'tool_call') controller.abort();
  },
});
console.log(`cancelled: ${cancelled.ok ? 'no' : cancelled.error.code}`);
await executor.dispose();

// Prints:
// an endless loop: timeout
// a hungry one: memory_limit
// too deep: runtime_error
// a liar: runtime_error
// the next one: "as if nothing had happened"
// log: waiting
// the tool hears of it
// cancelled: timeout
