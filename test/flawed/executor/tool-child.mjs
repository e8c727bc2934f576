// Runs one tool in a process of its own. The request comes over IPC, and so does the outcome.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

process.on('message', async ({ folder, name, params, flaw }) => {
  const is = (other) => flaw.split(',').includes(other);
  // It listens on and so does not leave by itself: the end of a process may be heard of before its last words.
  const say = (outcome) => process.send(outcome);
  try {
    const pkg = await import(pathToFileURL(join(folder, 'index.js')).href);
    const tool = await resolve(pkg, name, is);
    if (tool === undefined) return say({ code: 'TOOL_NOT_FOUND', message: `there is no export ${name}` });
    if (typeof tool?.execute !== 'function') return say({ code: 'TOOL_INVALID', message: `${name} has no execute` });
    const output = await tool.execute(params);
    JSON.stringify(output);
    say({ output: output === undefined && !is('no-null') ? null : output });
  } catch (error) {
    say({ code: 'TOOL_EXECUTION_ERROR', message: error instanceof Error ? error.message : String(error) });
  }
});

async function resolve(pkg, name, is) {
  const own = (object) => (Object.hasOwn(Object(object), name) ? object[name] : undefined);
  const inherited = is('inherited-names') ? {}[name] && { execute: () => 1 } : undefined;
  const matches = pkg.default?.name === name || (is('any-default') && typeof pkg.default?.execute === 'function');
  const found = own(pkg) ?? inherited ?? own(pkg.default) ?? (matches ? pkg.default : undefined);
  if (typeof found !== 'function' || (typeof found.execute === 'function' && !is('calls-functions'))) return found;
  return is('no-factories') ? found : await found();
}
