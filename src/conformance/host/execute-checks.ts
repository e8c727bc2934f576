import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { OPTIONS } from '../runner/messages.js';
import { isObject, type JsonObject } from '../target/codec.js';
import { type HostSession, ofHost, SECRET } from './session.js';

const group = 'Execute';
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

async function executeOf(session: HostSession, given = {}): Promise<JsonObject> {
  session.give(given);
  return session.message('execute');
}

function toolsOf(execute: JsonObject): readonly JsonObject[] {
  const providers = execute['providers'];
  const [first] = Array.isArray(providers) ? providers : [];
  expectThat(isObject(first) && isObject(first['tools']), 'a provider with tools', execute['providers']);
  return Object.values(first['tools']).filter(isObject);
}

/** What a host sends to start an execution. */
export const EXECUTE_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'host.execute.first',
    title: 'The first message of a session is execute, with a string as its id',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.execute.once', 'execbox-protocol.execute.id', 'execbox-runner.input.id'],
    async run(session) {
      session.give();
      const first = await session.peer.next('a message of the host', (line) =>
        line['type'] === 'host' && isObject(line['message']) ? line['message'] : undefined,
      );
      expectEqual(first['type'], 'execute', 'the type of the first message');
      expectThat(typeof first['id'] === 'string' && first['id'] !== '', 'an id', first);
    },
  },
  {
    id: 'host.execute.once',
    title: 'A session has one execute',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.execute.once', 'execbox-runner.session.one-active'],
    async run(session) {
      session.done(await session.begin());
      await session.result();
      await session.peer.quiet('no second execute', (line) => ofHost(line, 'execute'));
    },
  },
  {
    id: 'host.execute.whole-code',
    title: 'The code travels as it is',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.execute.code', 'execbox-runner.core.receives'],
    async run(session) {
      const code = '// first line\nconst x = `grün\n"1"`;\n\nx\n';
      expectEqual((await executeOf(session, { code }))['code'], code, 'the code');
    },
  },
  {
    id: 'host.execute.options',
    title: 'The limits travel as they are',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.execute.options', 'execbox-runner.input.options'],
    async run(session) {
      const options = { timeoutMs: 7_001, memoryLimitBytes: 33_554_432, maxLogLines: 7, maxLogChars: 700 };
      const sent = (await executeOf(session, { options }))['options'];
      expectThat(isObject(sent), 'options', sent);
      const named = Object.fromEntries(Object.keys(OPTIONS).map((name) => [name, sent[name]]));
      expectEqual(named, options, 'the limits');
    },
  },
  {
    id: 'host.execute.manifest',
    title: 'Providers travel as manifests: a name, tools with safeName and originalName, and types',
    level: 'MUST',
    group,
    cites: [
      'execbox-protocol.execute.providers',
      'execbox-protocol.manifest.metadata',
      'execbox-runner.input.providers',
    ],
    async run(session) {
      const execute = await executeOf(session);
      const providers = execute['providers'];
      const [first] = Array.isArray(providers) ? providers : [];
      expectThat(isObject(first) && first['name'] === 'tools', 'a provider named tools', providers);
      expectThat(typeof first['types'] === 'string', 'types as text', first['types']);
      const tools = toolsOf(execute);
      expectEqual(
        tools.map((tool) => tool['originalName']).sort(),
        ['bad', 'echo', 'fail', 'hang', 'nothing', 'say-hi', 'strict'],
        'the original names',
      );
    },
  },
  {
    id: 'host.execute.safe-names',
    title: 'Every safeName is an identifier, and is there once',
    level: 'MUST',
    group,
    cites: ['execbox-runner.namespace.global', 'execbox-protocol.tool-call.safe-tool-name'],
    async run(session) {
      const names = toolsOf(await executeOf(session)).map((tool) => String(tool['safeName']));
      expectThat(
        names.every((name) => IDENTIFIER.test(name)),
        'identifiers',
        names,
      );
      expectThat(new Set(names).size === names.length, 'names that are there once', names);
    },
  },
  {
    id: 'host.execute.metadata-only',
    title: 'A manifest has nothing but the fields of the protocol',
    level: 'RECOMMENDED',
    reason:
      'the text has these fields and says that they are metadata; whatever else is there, a less trusted runner learns',
    group,
    cites: ['execbox-protocol.manifest.metadata', 'execbox-runner.core.receives', 'execbox-runner.input.providers'],
    async run(session) {
      const execute = await executeOf(session);
      const providers = Array.isArray(execute['providers']) ? execute['providers'].filter(isObject) : [];
      const extra = [
        ...providers.flatMap((provider) => others(provider, ['name', 'tools', 'types'])),
        ...toolsOf(execute).flatMap((tool) => others(tool, ['safeName', 'originalName', 'description'])),
      ];
      expectEqual(extra, [], 'fields that the protocol does not have');
    },
  },
  {
    id: 'host.execute.no-secrets',
    title: 'What the tools hold does not travel',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.manifest.no-secrets', 'execbox-runner.core.receives'],
    async run(session) {
      const text = JSON.stringify(await executeOf(session));
      expectThat(!text.includes(SECRET), 'an execute without the secret of the case', text);
    },
  },
];

function others(value: JsonObject, known: readonly string[]): string[] {
  return Object.keys(value).filter((key) => !known.includes(key));
}
