import { type Check, NotApplicable } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject } from '../target/codec.js';
import { CACHED, TOOLS } from './registry/packages.js';
import { type ExecutorSession, outputOf } from './session.js';

const group = 'Extended';
const OPTIONAL = 'the text lists it as optional';

/** What the text calls optional. */
export const EXTENDED_CHECKS: readonly Check<ExecutorSession>[] = [
  {
    id: 'executor.extended.api-health',
    title: 'GET /api/health is GET /health',
    level: 'RECOMMENDED',
    reason: OPTIONAL,
    group,
    cites: ['tpmjs.extended.api-routes'],
    async run(session) {
      const { status, json } = await session.get('/api/health');
      expectThat(status === 200 && isObject(json) && json['status'] === 'ok', '200 with status "ok"', `${status}`);
    },
  },
  {
    id: 'executor.extended.api-execute',
    title: 'POST /api/execute-tool is POST /execute-tool',
    level: 'RECOMMENDED',
    reason: OPTIONAL,
    group,
    cites: ['tpmjs.extended.api-routes'],
    async run(session) {
      session.registry();
      const body = { packageName: TOOLS, name: 'echo', params: { a: 1 } };
      const answer = await session.call({ method: 'POST', path: '/api/execute-tool', body });
      expectEqual(outputOf(answer), { a: 1 }, 'the output');
    },
  },
  {
    id: 'executor.extended.caching',
    title: 'A package that was fetched is not fetched for the next call',
    level: 'RECOMMENDED',
    reason: OPTIONAL,
    group,
    cites: ['tpmjs.extended.caching'],
    async run(session) {
      await session.output('which', { packageName: CACHED });
      const before = session.registry().downloads(CACHED);
      await session.output('which', { packageName: CACHED });
      expectEqual(session.registry().downloads(CACHED), before, 'the number of downloads');
    },
  },
  {
    id: 'executor.extended.concurrency',
    title: 'Calls that come together are all served, each with its own output',
    level: 'RECOMMENDED',
    reason: 'a limit makes calls wait or be refused; it never mixes or loses them',
    group,
    cites: [],
    async run(session) {
      const calls = [0, 1, 2, 3].map((index) => session.output('echo', { params: { index } }));
      expectEqual(
        await Promise.all(calls),
        [0, 1, 2, 3].map((index) => ({ index })),
        'the outputs',
      );
    },
  },
  {
    id: 'executor.extended.metadata',
    title: 'GET /info says what it runs on',
    level: 'RECOMMENDED',
    reason: OPTIONAL,
    group,
    cites: ['tpmjs.extended.metadata', 'tpmjs.info.fields'],
    async run(session) {
      const { runtime } = await session.info();
      expectThat(isObject(runtime) && Object.keys(runtime).length > 0, 'runtime, with something in it', runtime);
    },
  },
  {
    id: 'executor.extended.unknown-version',
    title: 'A request of a later protocol version is answered, with a result or a structured error',
    level: 'RECOMMENDED',
    reason: 'versions are in a header so that they can change without breaking anybody',
    group,
    cites: ['tpmjs.versioning.header'],
    async run(session) {
      const headers = { 'x-tpmjs-protocol-version': '9.7' };
      const { status, json, text } = await session.call({ method: 'GET', path: '/health', headers });
      expectThat(isObject(json) && status < 500, 'a JSON object', `${status} ${text}`);
    },
  },
  {
    id: 'executor.extended.stream',
    title: 'Where supportsStreaming is true, Accept: text/event-stream gets events, with the output in the last',
    level: 'RECOMMENDED',
    reason: 'the text reserves it; who says that it is there should have it',
    group,
    cites: [],
    async run(session) {
      session.registry();
      const { supportsStreaming } = await session.capabilities();
      if (supportsStreaming !== true) throw new NotApplicable('it says that it does not stream');
      const body = { packageName: TOOLS, name: 'echo', params: { marker: 'in-the-stream' } };
      const { headers, text } = await session.post(body, { accept: 'text/event-stream' });
      const kind = String(headers['content-type']);
      expectThat(kind.startsWith('text/event-stream'), 'content-type: text/event-stream', kind);
      const last = text.trim().split(/\n\n/).at(-1) ?? '';
      expectThat(last.includes('in-the-stream'), 'the output in the last event', last);
    },
  },
];
