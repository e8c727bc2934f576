import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject } from '../target/codec.js';
import type { ExecClient } from './client.js';
import { bareInEach, type ExecSession, inEach } from './session.js';

const group = 'Handshake';

/** How a connection begins. */
export const HANDSHAKE_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.handshake.initialize',
    title: 'initialize is answered with an empty object, or in the later dialect with the session',
    level: 'MUST',
    group,
    cites: ['exec-server.initialize.request', 'exec-server.initialize.response', 'exec-server.lifecycle.sequence'],
    run: bareInEach(async (client) => {
      const result = await client.result('initialize', client.initializeParams());
      if (client.dialect === 'first') expectEqual(result, {}, 'the result of initialize');
    }),
  },
  {
    id: 'exec-server.handshake.client-name',
    title: 'initialize without a clientName is refused',
    level: 'MUST',
    group,
    cites: ['exec-server.initialize.request', 'exec-server.errors.malformed-params'],
    run: bareInEach(async (client) => {
      const { clientName: _, ...rest } = client.initializeParams();
      await client.refusal('initialize', rest, 'initialize without clientName to be refused');
      await client.refusal('initialize', { ...rest, clientName: 5 }, 'a clientName that is no string to be refused');
    }),
  },
  {
    id: 'exec-server.handshake.before-initialize',
    title: 'Exec methods are refused before initialize',
    level: 'MUST',
    group,
    cites: ['exec-server.lifecycle.rejects-early'],
    run: bareInEach((client) => refusesAll(client, 'before initialize')),
  },
  {
    id: 'exec-server.handshake.before-initialized',
    title: 'Exec methods are refused between initialize and initialized, and taken afterwards',
    level: 'MUST',
    group,
    cites: ['exec-server.lifecycle.rejects-early', 'exec-server.initialized.until'],
    run: bareInEach(async (client) => {
      await client.result('initialize', client.initializeParams());
      await refusesAll(client, 'before initialized');
      client.peer.send({ method: 'initialized', params: {} });
      expectEqual((await client.run('p', 'exit 4')).code, 4, 'the exit code of a start after initialized');
    }),
  },
  {
    id: 'exec-server.handshake.initialized-params',
    title: 'The params of initialized are ignored, and may be missing',
    level: 'MUST',
    group,
    cites: ['exec-server.initialized.params-ignored'],
    run: bareInEach(async (client, session) => {
      const variants = [{ method: 'initialized' }, { method: 'initialized', params: { list: [1, 'two', null] } }];
      for (const [index, initialized] of variants.entries()) {
        const own = index === 0 ? client : await session.connect(client.dialect);
        await own.result('initialize', own.initializeParams());
        own.peer.send(initialized);
        expectEqual((await own.run('p', 'exit 4')).code, 4, 'the exit code of a start after initialized');
      }
    }),
  },
  {
    id: 'exec-server.handshake.unknown-notification',
    title: 'A notification other than initialized is a protocol error: the connection ends, or an error comes',
    level: 'MUST',
    group,
    cites: ['exec-server.initialized.other-notifications'],
    run: inEach(async (client) => {
      client.peer.send({ method: 'process/hello', params: {} });
      await protocolError(client, 'the notification process/hello');
    }),
  },
  {
    id: 'exec-server.handshake.initialized-first',
    title: 'initialized before initialize is a protocol error: the connection ends, or an error comes',
    level: 'RECOMMENDED',
    reason: 'the text gives the order; a client that gets it wrong should hear of it at once',
    group,
    cites: ['exec-server.lifecycle.sequence'],
    run: bareInEach(async (client) => {
      client.peer.send({ method: 'initialized', params: {} });
      await protocolError(client, 'initialized before initialize');
    }),
  },
  {
    id: 'exec-server.handshake.second-initialize',
    title: 'A second initialize is refused, and the connection goes on',
    level: 'RECOMMENDED',
    reason: 'the handshake happens once for a connection; a second one would leave open whose processes are whose',
    group,
    cites: ['exec-server.lifecycle.sequence'],
    run: inEach(async (client) => {
      await client.refusal('initialize', client.initializeParams(), 'a second initialize to be refused');
      await client.alive();
    }),
  },
];

async function refusesAll(client: ExecClient, when: string): Promise<void> {
  const processId = 'early';
  const chunk = Buffer.from('x').toString('base64');
  const calls = {
    'process/start': client.startParams(processId, 'exit 0'),
    'process/read': { processId, afterSeq: 0 },
    'process/write': { processId, chunk, ...(client.dialect === 'first' ? {} : { writeId: 'w' }) },
    'process/terminate': { processId },
  };
  for (const [method, params] of Object.entries(calls)) {
    await client.refusal(method, params, `${method} to be refused ${when}`);
  }
}

/** Waits for the end of the connection or for an error without a request. */
async function protocolError(client: ExecClient, what: string): Promise<void> {
  const id = client.request('process/terminate', { processId: 'nobody' });
  try {
    const message = await client.until(`an error or the end of the connection after ${what}`, (candidate) =>
      isObject(candidate['error']) ? true : candidate['id'] === id,
    );
    expectThat(message['id'] !== id, `an error or the end of the connection after ${what}`, message);
  } catch (error) {
    if (client.peer.ending === undefined) throw error;
  }
}
