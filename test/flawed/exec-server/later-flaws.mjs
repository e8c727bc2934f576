// Mistakes that an exec-server of the later dialect can make.
import { error, note, params, result } from './change.mjs';

export const LATER_FLAWS = {
  'plain-paths-are-taken': {
    toServer: params('process/start', ({ cwd }) => (String(cwd).startsWith('/') ? { cwd: `file://${cwd}` } : {})),
  },
  'stdin-stays-open': { toServer: params('process/start', ({ tty }) => (tty ? {} : { pipeStdin: true })) },
  'repeated-writes-are-written': {
    toServer: params('process/write', ({ writeId }, { state }) => {
      state.writes = (state.writes ?? 0) + 1;
      return writeId === undefined ? {} : { writeId: `${writeId} ${state.writes}` };
    }),
  },
  'exits-have-no-number': {
    toClient: note('process/exited', ({ params: { seq: _, ...rest }, ...message }) => ({ ...message, params: rest })),
  },
  'exits-lack-sandbox-denied': {
    toClient: note('process/exited', ({ params: { sandboxDenied: _, ...rest }, ...message }) => ({
      ...message,
      params: rest,
    })),
  },
  'closed-means-exited': {
    toClient: (message) => {
      if (message.method === 'process/closed') return [];
      if (message.method !== 'process/exited') return undefined;
      const { processId, seq } = message.params;
      return [message, { method: 'process/closed', params: { processId, seq: seq + 1 } }];
    },
  },
  'sessions-end-with-the-connection': {
    async onLeave({ ask, processes }) {
      await Promise.all(processes().map(({ params: { processId } }) => ask('process/terminate', { processId })));
    },
  },
  'rivals-hear-unknown-session': {
    toClient: error('initialize', (message) =>
      message.error.code === -32010 ? { ...message, error: { ...message.error, code: -32600 } } : undefined,
    ),
  },
  'policies-are-ignored': { toServer: params('process/start', () => ({ envPolicy: null })) },
  'malformed-ends-the-connection': {
    toServer: (message) => (message.problem === undefined ? undefined : { id: 'x', result: {} }),
  },
  'missing-files-are-internal-errors': {
    toClient: error('*', (message) =>
      message.error.code === -32004 ? { ...message, error: { ...message.error, code: -32603 } } : undefined,
    ),
  },
  'nothing-is-removed': {
    toServer: (message, { say }) => {
      if (message.method !== 'fs/remove') return undefined;
      say({ id: message.id, result: {} });
      return [];
    },
  },
  'walks-are-never-cut': { toClient: result('fs/walk', (walk) => ({ ...walk, truncated: false })) },
  'pieces-count-from-0': {
    toClient: note('http/request/bodyDelta', (message) => ({
      ...message,
      params: { ...message.params, seq: message.params.seq - 1 },
    })),
  },
};
