import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocketServer } from 'ws';
import { runSuite } from '../../src/conformance/index.js';

/** A runner that waits for a call until it is cancelled, and says that it has unwound from a given session on. */
async function runner(unwindsFrom: number): Promise<string> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  onTestFinished(() => void server.close());
  let sessions = 0;
  server.on('connection', (socket) => {
    sessions += 1;
    const logs = sessions >= unwindsFrom ? ['unwound'] : [];
    const say = (message: object) => socket.send(JSON.stringify(message));
    socket.on('message', (data) => {
      const { type, id } = JSON.parse(String(data));
      if (type === 'execute') {
        say({ type: 'started', id });
        say({ type: 'tool_call', callId: 'c', providerName: 'tools', safeToolName: 'echo', input: 1 });
      } else if (type === 'cancel') {
        const error = { code: 'timeout', message: 'cancelled' };
        say({ type: 'done', id, ok: false, error, durationMs: 1, logs });
      }
    });
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  return `ws://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

describe('the check for programs that unwind', () => {
  it.each([
    ['passes a runner that cuts one off by the clock', 2, 'passed'],
    ['fails a runner that never rejects the calls that wait', Number.POSITIVE_INFINITY, 'failed'],
  ] as const)('%s', async (_, unwindsFrom, status) => {
    const url = await runner(unwindsFrom);
    const { outcomes } = await runSuite('runner', { kind: 'url', url }, { only: ['runner.cancel.pending-rejects'] });
    expect(outcomes.map(({ verdict }) => verdict.status)).toEqual([status]);
  });
});
