import type { Check } from '../check.js';
import { expectEqual } from '../expect.js';
import { manifest } from './messages.js';
import { type RunnerSession, resultOf } from './session.js';

const group = 'Namespaces';
const FIRECRAWL = manifest('firecrawl', ['scrape_url', 'scrape-url']);

/** How a provider manifest becomes something that a program can call. */
export const NAMESPACE_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.namespace.safe-names',
    title: 'A manifest is a global namespace with a function under each safeName, and none under the original name',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.namespace.global',
      'execbox-runner.namespace.expose',
      'execbox-protocol.execute.providers',
      'execbox-protocol.manifest.use',
    ],
    async run(session) {
      const code = '[typeof firecrawl.scrape_url, typeof firecrawl["scrape-url"], typeof globalThis.firecrawl]';
      const done = await session.run(code, { providers: [FIRECRAWL] });
      expectEqual(resultOf(done), ['function', 'undefined', 'object'], 'the types of the three');
    },
  },
  {
    id: 'runner.namespace.not-record-keys',
    title: 'A tool is found under its safeName also where the key of its record is another',
    level: 'MUST',
    group,
    cites: ['execbox-runner.namespace.global'],
    async run(session) {
      const tools = { 'scrape-url': { safeName: 'scrape_url', originalName: 'scrape-url' } };
      const done = await session.run('typeof firecrawl.scrape_url', {
        providers: [{ name: 'firecrawl', tools, types: '' }],
      });
      expectEqual(resultOf(done), 'function', 'the type of firecrawl.scrape_url');
    },
  },
  {
    id: 'runner.namespace.each-manifest',
    title: 'Each manifest is a namespace of its own, also where tools have the same names',
    level: 'MUST',
    group,
    cites: ['execbox-runner.namespace.global', 'execbox-runner.call.names', 'execbox-protocol.tool-call.provider-name'],
    async run(session) {
      const id = session.execute('await alpha.get(1); await beta.get(2); "both"', {
        providers: [manifest('alpha', 'get'), manifest('beta', 'get')],
      });
      for (const [name, input] of [
        ['alpha', 1],
        ['beta', 2],
      ]) {
        const call = await session.call(`a tool_call of ${name}.get`);
        expectEqual([call['providerName'], call['input']], [name, input], 'providerName and input');
        session.answer(call);
      }
      expectEqual(resultOf(await session.done(id)), 'both', 'the result');
    },
  },
  {
    id: 'runner.namespace.metadata-only',
    title: 'A manifest of nothing but names is enough, and an execution without providers runs',
    level: 'MUST',
    group,
    cites: ['execbox-runner.input.providers', 'execbox-runner.input.assumes'],
    async run(session) {
      const bare = { name: 'bare', tools: { get: { safeName: 'get', originalName: 'get' } }, types: '' };
      const done = await session.run('await bare.get()', { providers: [bare] }, { ok: true, result: 'got' });
      expectEqual(resultOf(done), 'got', 'the result');
      expectEqual(resultOf(await (await session.again()).run('"none"', { providers: [] })), 'none', 'the result');
    },
  },
  {
    id: 'runner.namespace.promises',
    title: 'A tool returns a Promise',
    level: 'MUST',
    group,
    cites: ['execbox-runner.namespace.promise', 'execbox-runner.pause.pending', 'execbox-protocol.manifest.use'],
    async run(session) {
      const code = 'const call = tools.echo(1); const is = call instanceof Promise; await call; is';
      expectEqual(resultOf(await session.run(code)), true, 'whether it is a Promise');
    },
  },
];
