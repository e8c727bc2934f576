// Mistakes that an exec-server of the first dialect can make.
import { error, first, note, params, pidOf, result, throughText } from './change.mjs';

/** Takes over process/terminate and ends a process in another way. */
const terminates = (how) => (message, connection) => {
  if (message.method !== 'process/terminate') return undefined;
  void pidOf(connection, message.params.processId).then((pid) => {
    if (pid === undefined) return connection.tell(message);
    how(pid);
    connection.say({ id: message.id, result: { running: true } });
  });
  return [];
};

const laterBy = (ms, message, connection) => {
  setTimeout(() => connection.say(message), ms);
  return [];
};

export const FIRST_FLAWS = {
  'early-requests-work': {
    toServer: (message) => {
      if (message.method === 'initialize') return [message, { method: 'initialized' }];
      return message.method === 'initialized' ? [] : undefined;
    },
  },
  'any-notification-is-fine': {
    toServer: ({ id, method }) => (id === undefined && method?.startsWith('process/') ? [] : undefined),
  },
  'empty-argv-runs': {
    toServer: params('process/start', ({ argv }) => (argv?.length === 0 ? { argv: ['true'] } : {})),
  },
  'cwd-is-ignored': {
    toServer: params('process/start', ({ cwd }) => (String(cwd).startsWith('/') ? { cwd: '/' } : {})),
  },
  'env-is-inherited': {
    toServer: params('process/start', ({ env, argv }) => (Array.isArray(argv) ? { env: { HOME: '/', ...env } } : {})),
  },
  'arg0-is-ignored': { toServer: params('process/start', () => ({ arg0: null })) },
  'duplicates-are-accepted': {
    toClient: error('process/start', ({ id, error: { message } }, { processId }) =>
      message.includes('already exists') ? { id, result: { processId } } : undefined,
    ),
  },
  'stderr-is-stdout': {
    toClient: note('process/output', (message) =>
      message.params.stream === 'stderr' ? { ...message, params: { ...message.params, stream: 'stdout' } } : undefined,
    ),
  },
  'output-is-text': {
    toClient: note('process/output', (message) => ({
      ...message,
      params: { ...message.params, chunk: throughText(message.params.chunk) },
    })),
  },
  'exit-is-told-twice': { toClient: note('process/exited', (message) => [message, message]) },
  'exit-overtakes-output': {
    // Full chunks only: their end is still on its way when the exit is told.
    toClient: note('process/output', (message, connection) =>
      message.params.chunk.length > 8_000 ? laterBy(30, message, connection) : undefined,
    ),
  },
  'exit-is-told-first': { toClient: note('process/output', (message, connection) => laterBy(30, message, connection)) },
  'output-before-the-answer': {
    toClient: (message, connection) =>
      connection.requestOf(message)?.method === 'process/start' && message.result !== undefined
        ? laterBy(30, message, connection)
        : undefined,
  },
  'writes-to-nobody-work': {
    toClient: error('process/write', ({ id, error: { message } }) =>
      message.includes('unknown process') ? { id, result: { accepted: true } } : undefined,
    ),
  },
  'writes-are-text': {
    toServer: params('process/write', ({ chunk }) => (typeof chunk === 'string' ? { chunk: throughText(chunk) } : {})),
  },
  'after-seq-is-inclusive': {
    toServer: params('process/read', ({ afterSeq }) => (afterSeq > 0 ? { afterSeq: afterSeq - 1 } : {})),
  },
  'reads-never-wait': { toServer: params('process/read', () => ({ waitMs: 0 })) },
  'reads-hold-up-others': {
    toServer: (message, { state, tell }) => {
      if (state.held !== undefined) {
        state.held.push(message);
        return [];
      }
      if (message.method !== 'process/read' || !(message.params?.waitMs > 0)) return undefined;
      state.held = [];
      state.reader = message.id;
      state.release = () => {
        const held = state.held ?? [];
        state.held = undefined;
        for (const one of held) tell(one);
      };
      return undefined;
    },
    toClient: ({ id }, { state }) => {
      if (id !== undefined && id === state.reader) state.release();
    },
  },
  'newest-output-is-dropped': {
    toClient: result('process/read', (read, { processId }, { state }) => {
      if (read.truncated) state[processId] = read.firstSeq + 40;
      const last = state[processId];
      return last === undefined ? undefined : { ...read, chunks: read.chunks.filter(({ seq }) => seq <= last) };
    }),
  },
  'terminate-only-asks': { toServer: terminates((pid) => process.kill(-pid, 'SIGTERM')) },
  'terminate-forgets-children': { toServer: terminates((pid) => process.kill(pid, 'SIGKILL')) },
  'processes-outlive-the-connection': { onLeave: () => 'stay' },
  'nothing-is-ended': { toServer: terminates(() => {}), onLeave: () => 'stay' },
  'codes-of-its-own': {
    toClient: error('*', (message) => ({ ...message, error: { ...message.error, code: -32000 } })),
  },
  'ids-become-numbers': {
    toClient: (message) => (/^\d+$/.test(message.id) ? { ...message, id: Number(message.id) } : undefined),
  },
  'ids-are-shared': {
    // Whoever knows an id can use it: connections ask each other for processes that they do not have.
    toServer: (message, connection) => {
      const { id, method, params: sent } = message;
      if (
        method !== 'process/read' ||
        connection.processes().some((one) => one.params?.processId === sent?.processId)
      ) {
        return undefined;
      }
      const owner = connection
        .others()
        .find((other) => other.processes().some((one) => one.params?.processId === sent?.processId));
      if (owner === undefined) return undefined;
      void owner.ask(method, sent).then((answer) => connection.say({ ...answer, id }));
      return [];
    },
  },
  'jsonrpc-is-sent': { toClient: (message) => ({ jsonrpc: '2.0', ...message }) },
  'unknown-fields-are-refused': {
    toServer: first((message, { say }) => {
      if (message.params?.aFieldOfTomorrow === undefined) return undefined;
      say({ id: message.id, error: { code: -32602, message: 'unknown field' } });
      return [];
    }),
  },
};
