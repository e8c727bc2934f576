import type { Check } from '../check.js';
import { CheckFailed } from '../check.js';
import { expectEqual, expectThat, show } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import { openingFrame, upgradeStatus } from './raw-socket.js';
import { bareInEach, type ExecSession, inEach, inFirst, needs } from './session.js';

const group = 'Wire';

/** How messages travel and what every one of them looks like. */
export const WIRE_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.wire.lines',
    title: 'On stdio every line is one message, however the bytes of lines arrive',
    level: 'MUST',
    group,
    cites: ['exec-server.transport.stdio', 'exec-server.binary.stdio'],
    run: bareInEach(async (client, session) => {
      needs(session, 'stdio');
      const line = `${JSON.stringify({ id: 'one', method: 'initialize', params: client.initializeParams() })}\n`;
      client.peer.sendRaw(line.slice(0, 20));
      client.peer.sendRaw(line.slice(20));
      await client.answer('one', 'a message in two pieces');
      const both = { id: 'two', method: 'process/terminate', params: { processId: 'nobody' } };
      client.peer.sendRaw(`{"method":"initialized"}\n${JSON.stringify(both)}\n`);
      await client.answer('two', 'the second of two messages in one piece');
    }),
  },
  {
    id: 'exec-server.wire.text-frames',
    title: 'On WebSocket every message of the server is one text frame',
    level: 'MUST',
    group,
    cites: ['exec-server.transport.websocket', 'exec-server.binary.websocket'],
    run: bareInEach(async (client, session) => {
      needs(session, 'websocket');
      const message = JSON.stringify({ id: 1, method: 'initialize', params: client.initializeParams() });
      const { kind, text } = await openingFrame(session.context, message);
      expectEqual(kind, 'text', 'the frame of the answer');
      const answer = jsonOf(text);
      const whole = isObject(answer) && answer['id'] === 1 && isObject(answer['result']);
      expectThat(whole, 'the answer to initialize in one frame', text);
    }),
  },
  {
    id: 'exec-server.wire.envelope',
    title: 'Answers carry the id and either a result or an error with code and message; notifications carry no id',
    level: 'MUST',
    group,
    cites: ['exec-server.transport.envelope'],
    run: inEach(async (client) => {
      await client.call('no/such/method', {});
      await client.run('p', 'echo hi');
      for (const message of client.log) expectEnvelope(message);
    }),
  },
  {
    id: 'exec-server.wire.example',
    title: 'A session like the example of the text goes as it says',
    level: 'MUST',
    group,
    cites: ['exec-server.example', 'exec-server.lifecycle.sequence', 'exec-server.lifecycle.methods'],
    run: inFirst(async (client) => {
      const script = `printf 'ready\\n'; while IFS= read -r line; do printf 'echo:%s\\n' "$line"; done`;
      expectEqual(
        await client.start('proc-1', script, { tty: true }),
        { processId: 'proc-1' },
        'the result of the start',
      );
      await client.shows('proc-1', 'ready');
      await client.writes('proc-1', 'hello\n');
      await client.shows('proc-1', 'echo:hello');
      expectEqual(await client.terminate('proc-1'), { running: true }, 'the result of process/terminate');
      await client.exited('proc-1');
    }),
  },
  {
    id: 'exec-server.wire.ids',
    title: 'The id of a request is a string or a whole number, and comes back as it was sent',
    level: 'RECOMMENDED',
    reason: 'the examples have numbers, and the shared envelope types have both; a client finds its request by the id',
    group,
    cites: ['exec-server.transport.envelope'],
    run: inEach(async (client) => {
      for (const id of ['a string', '7', 7, 0, 900_719_925_474]) {
        client.peer.send({ id, method: 'process/terminate', params: { processId: 'nobody' } });
        await client.answer(id, `the request with id ${JSON.stringify(id)}`);
      }
    }),
  },
  {
    id: 'exec-server.wire.no-jsonrpc',
    title: 'Messages are sent without a jsonrpc field, as in the examples, and taken with one',
    level: 'RECOMMENDED',
    reason: 'the envelope types have no such field: strict clients may refuse it, and generic ones send it',
    group,
    cites: ['exec-server.example'],
    run: inEach(async (client) => {
      client.peer.send({ jsonrpc: '2.0', id: 'x', method: 'process/terminate', params: { processId: 'nobody' } });
      await client.answer('x', 'a request with jsonrpc');
      await client.run('p', 'echo hi');
      const found = client.log.find((message) => Object.hasOwn(message, 'jsonrpc'));
      expectThat(found === undefined, 'no message with a jsonrpc field', found);
    }),
  },
  {
    id: 'exec-server.wire.no-more-fields',
    title: 'In the first dialect messages have the fields of the text and no others',
    level: 'RECOMMENDED',
    reason: 'the text does not forbid more; strict clients of that time refuse what they do not know',
    group,
    cites: ['exec-server.start.response', 'exec-server.output.params', 'exec-server.exited.params'],
    run: inFirst(async (client) => {
      expectEqual(
        Object.keys(await client.start('p', 'echo hi')),
        ['processId'],
        'the fields of the answer to a start',
      );
      await client.shows('p', 'hi');
      await client.exited('p');
      const fields = {
        'process/output': ['chunk', 'processId', 'stream'],
        'process/exited': ['exitCode', 'processId'],
      };
      for (const [method, wanted] of Object.entries(fields)) {
        const { params } = await client.notification(method, 'p');
        expectEqual(isObject(params) ? Object.keys(params).sort() : params, wanted, `the fields of ${method}`);
      }
    }),
  },
  {
    id: 'exec-server.wire.unknown-fields',
    title: 'Fields that the server does not know are ignored',
    level: 'RECOMMENDED',
    reason: 'clients of both dialects send fields that were added later',
    group,
    cites: [],
    run: inEach(async (client) => {
      const { code } = await client.run('p', 'exit 3', { aFieldOfTomorrow: { deep: [1] } });
      expectEqual(code, 3, 'the exit code');
    }),
  },
  {
    id: 'exec-server.wire.blank-lines',
    title: 'Blank lines on stdio are skipped',
    level: 'RECOMMENDED',
    reason: 'whoever types or pipes messages sends them, and they say nothing',
    group,
    cites: [],
    run: bareInEach(async (client, session) => {
      needs(session, 'stdio');
      client.peer.sendRaw('\n\r\n');
      await client.open();
      await client.alive();
    }),
  },
  {
    id: 'exec-server.wire.binary-frames',
    title: 'A binary frame that holds a message is taken like a text frame',
    level: 'RECOMMENDED',
    reason: 'the original takes both, and some WebSocket libraries send bytes unless told otherwise',
    group,
    cites: [],
    run: bareInEach(async (client, session) => {
      needs(session, 'websocket');
      const message = { id: 'bytes', method: 'initialize', params: client.initializeParams() };
      client.peer.sendRaw(Buffer.from(JSON.stringify(message)));
      const answer = await client.answer('bytes', 'a binary frame');
      expectThat(isObject(answer['result']), 'a result', answer);
    }),
  },
  {
    id: 'exec-server.wire.pipelined',
    title: 'Requests that are sent without waiting are each answered once',
    level: 'RECOMMENDED',
    reason: 'ids exist so that clients need not wait',
    group,
    cites: ['exec-server.transport.envelope'],
    run: inEach(async (client) => {
      const ids = Array.from({ length: 20 }, (_, index) =>
        client.request('process/terminate', { processId: `nobody-${index}` }),
      );
      for (const id of ids) await client.answer(id, `request ${id}`);
      await client.peer.quiet('no second answer', ({ id }) => id !== undefined);
    }),
  },
  {
    id: 'exec-server.wire.malformed',
    title: 'What is no JSON ends the connection in the first dialect, and is answered with id -1 in the later one',
    level: 'RECOMMENDED',
    reason: 'nobody knows which request it was: silence would leave a client waiting',
    group,
    cites: [],
    run: inEach(async (client, session) => {
      client.peer.sendRaw(`{"id":5,"method":${session.carrier === 'stdio' ? '\n' : ''}`);
      if (client.dialect === 'first') return void (await client.peer.ended('the end of the connection'));
      const answer = await client.answer(-1, 'a message that is no JSON, with id -1');
      expectThat(isObject(answer['error']), 'an error', answer);
      await client.alive();
    }),
  },
  {
    id: 'exec-server.wire.web-pages',
    title: 'A web page of another origin cannot connect',
    level: 'RECOMMENDED',
    reason: 'every page in a browser can open a WebSocket to this machine, and would run commands on it',
    group,
    cites: ['exec-server.binary.websocket'],
    async run(session) {
      needs(session, 'websocket');
      const status = await upgradeStatus(session.context, 'https://a-page.example');
      if (status !== 101) return;
      throw new CheckFailed({ expected: 'the upgrade to be refused', cameBack: 'HTTP 101' });
    },
  },
];

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function expectEnvelope(message: JsonObject): void {
  const { id, method, error } = message;
  if (method !== undefined) {
    const fits = typeof method === 'string' && id === undefined && isObject(message['params']);
    return expectThat(fits, 'a notification with a method, params and no id', message);
  }
  expectThat(id !== undefined, 'an answer with an id', message);
  const kinds = ['result', 'error'].filter((name) => Object.hasOwn(message, name));
  expectEqual(kinds.length, 1, `the number of results and errors in ${show(message)}`);
  if (error === undefined) return;
  const fits = isObject(error) && Number.isSafeInteger(error['code']) && typeof error['message'] === 'string';
  expectThat(fits, 'an error with a whole number as code and a message', message);
}
