// Runs one script of the suite, in a guest or in Node.js.
import { createContext, Script } from 'node:vm';

/** Some tests make millions of steps; on a busy machine they need this long. */
const TIMEOUT_MS = 60_000;

/** `passed`, or why not. */
function judge({ negative }, thrown) {
  if (negative === undefined) return thrown === undefined ? 'passed' : thrown;
  if (thrown === undefined) return `no ${negative.type} was thrown`;
  return thrown.startsWith(negative.type) ? 'passed' : `${thrown} instead of ${negative.type}`;
}

/** Runs it as a script of a guest: with indirect eval, because a program of a guest is the body of a function. */
export async function runInGuest(executor, test, script) {
  const code = `
let settle;
const done = new Promise((resolve) => { settle = resolve; });
globalThis.$DONE = (error) => settle(error ? describe(error) : undefined);
globalThis.print = () => {};
function describe(error) {
  const name = typeof error === 'object' && error !== null && error.constructor ? error.constructor.name : typeof error;
  return name + ': ' + (error && error.message !== undefined ? error.message : String(error));
}
try {
  (0, eval)(${JSON.stringify(script).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')});
} catch (error) {
  return describe(error);
}
${test.flags.includes('async') ? 'return await done;' : ''}`;
  const outcome = await executor.execute(code, [], { timeoutMs: TIMEOUT_MS });
  if (outcome.ok) return judge(test, outcome.result);
  return `${outcome.error.code}: ${outcome.error.message}`;
}

/** Runs a test as the program itself: parsed and wrapped by us, as whatever a model writes is. */
export async function runAsProgram(executor, test, harness) {
  const files = ['assert.js', 'sta.js', ...test.includes].map((name) => harness.get(name) ?? '').join('\n');
  const early = test.negative?.phase === 'early' || test.negative?.phase === 'parse';
  const before = early
    ? ''
    : `globalThis.done = new Promise((r) => { globalThis.$DONE = r; }); (0, eval)(${JSON.stringify(files)});\n`;
  const after = test.flags.includes('async') ? '\n;{ const error = await done; if (error) throw error; }' : '';
  const outcome = await executor.execute(`${before}${test.source}${after}`, [], { timeoutMs: TIMEOUT_MS });
  // Many tests end in a value that cannot cross the boundary; that they got there is enough.
  if (outcome.ok || outcome.error.code === 'serialization_error') return judge(test, undefined);
  const { code, message } = outcome.error;
  return code === 'runtime_error' ? judge(test, message) : `${code}: ${message}`;
}

/** Runs it as a script in a context of its own. */
export async function runInNode(test, script) {
  let settle;
  const done = new Promise((resolve) => {
    settle = resolve;
  });
  const context = createContext({ $DONE: (error) => settle(error ? String(error) : undefined), print: () => {} });
  try {
    new Script(script).runInContext(context, { timeout: TIMEOUT_MS });
  } catch (error) {
    const name = error?.constructor?.name ?? typeof error;
    return judge(test, `${name}: ${error?.message}`);
  }
  if (!test.flags.includes('async')) return judge(test, undefined);
  const late = new Promise((resolve) => setTimeout(() => resolve('nothing was done in time'), 2_000).unref());
  return judge(test, await Promise.race([done, late]));
}
