import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import { type ExecClient, textOf } from './client.js';
import { RETRY_MS } from './limits.js';
import { bareInLater, type ExecSession, inLater, needs } from './session.js';

const group = 'Later dialect';
const level = 'RECOMMENDED';
const cites: readonly string[] = [];

/** Sessions that outlive their connection. */
export const RESUME_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.later.session-id',
    title: 'initialize is answered with a sessionId, another one for each connection',
    level,
    reason: 'a client resumes the session by it',
    group,
    cites,
    run: inLater(async (client, session) => {
      const other = await session.connect('later');
      const ids = [sessionIdOf(client.log[0]), sessionIdOf({ result: await other.open() })];
      expectThat(ids[0] !== ids[1], 'two ids', ids);
    }),
  },
  {
    id: 'exec-server.later.resume',
    title: 'A session that lost its connection goes on, and initialize with its id takes it up',
    level,
    reason: 'a lost connection must not cost a client the build that it was waiting for',
    group,
    cites,
    run: inLater(async (client, session) => {
      needs(session, 'websocket');
      const sessionId = sessionIdOf(client.log[0]);
      await client.start('p', 'echo before; read line; echo "after:$line"', { pipeStdin: true });
      await client.shows('p', 'before');
      client.peer.end();
      await client.peer.ended('the end of the connection');
      const next = await resumed(session, sessionId);
      next.peer.send({ method: 'initialized', params: {} });
      await next.result('process/write', { processId: 'p', writeId: 'resumed', chunk: 'aGkK' });
      await next.finished('p');
      expectEqual(textOf(await next.read('p')), 'before\nafter:hi\n', 'the output, as process/read has it');
    }),
  },
  {
    id: 'exec-server.later.resume-attached',
    title: 'A session whose connection is alive cannot be taken up by another one: -32010',
    level,
    reason: 'two clients would each get half of the output; by the code the second knows to wait',
    group,
    cites,
    run: inLater(async (client, session) => {
      needs(session, 'websocket');
      const rival = await session.connect('later');
      const params = rival.initializeParams(sessionIdOf(client.log[0]));
      const { code } = await rival.refusal('initialize', params, 'the resume to be refused');
      expectEqual(code, -32010, 'the code');
      expectEqual((await client.run('p', 'exit 3')).code, 3, 'the exit code on the first connection');
    }),
  },
  {
    id: 'exec-server.later.resume-unknown',
    title: 'A session that does not exist cannot be resumed: -32600',
    level,
    reason: 'a new session under its name would look as if its processes had vanished',
    group,
    cites,
    run: bareInLater(async (client) => {
      const params = client.initializeParams('00000000-0000-4000-8000-000000000000');
      const { code } = await client.refusal('initialize', params, 'the resume to be refused');
      expectEqual(code, -32600, 'the code');
    }),
  },
];

/** Takes a session up on a new connection. The server may learn of the end of the old one later than we do. */
async function resumed(session: ExecSession, sessionId: string): Promise<ExecClient> {
  for (;;) {
    const client = await session.connect('later');
    const answer = await client.call('initialize', client.initializeParams(sessionId));
    const { error } = answer;
    if (isObject(error) && error['code'] === -32010) {
      await client.peer.quiet('a moment', () => false, RETRY_MS);
      continue;
    }
    expectEqual(sessionIdOf(answer), sessionId, 'the sessionId of the answer');
    return client;
  }
}

function sessionIdOf(answer: JsonObject | undefined): string {
  const result = answer?.['result'];
  const id = isObject(result) ? result['sessionId'] : undefined;
  expectThat(typeof id === 'string' && id !== '', 'a sessionId', answer);
  return id;
}
