import { describe, expect, it, onTestFinished } from 'vitest';
import { NotApplicable } from '../../src/conformance/check.js';
import { openContext } from '../../src/conformance/context.js';
import { ExecSession } from '../../src/conformance/exec-server/session.js';
import { falls } from '../../src/conformance/exec-server/shell.js';
import type { Target } from '../../src/conformance/index.js';
import { SALLYPORT } from '../e2e/command.js';
import { script } from './ping-suite.js';

function sessionWith(target: Target) {
  const context = openContext({ target, settings: new Map([['dialect', 'first']]), limitMs: 20_000 });
  onTestFinished(() => context[Symbol.asyncDispose]());
  return { session: new ExecSession(context), transcript: context.transcript };
}

describe('a client of an exec-server', () => {
  it('ends everything that it started, whatever the server says to the first', async () => {
    const { session, transcript } = sessionWith(
      script(`onPing((line) => {
        const { id, method, params } = JSON.parse(line);
        if (method === 'process/terminate') say({ id, error: { code: -32603, message: 'no' } });
        else if (id !== undefined) say({ id, result: params });
      });`),
    );
    const client = await session.open('first');
    for (const id of ['one', 'two']) await client.start(id, 'exit 0');
    await client.endAll();
    const sent = transcript.entries.filter(({ from, text }) => from === 'suite' && text.includes('process/terminate'));
    expect(sent.length).toBe(2);
  });

  it('does not take a file that is not there for a process that has ended', async () => {
    const argv = [process.execPath, SALLYPORT, 'exec-server'];
    const { session } = sessionWith({ kind: 'command', argv, env: { PATH: process.env['PATH'] ?? '' } });
    const client = await session.open('first');
    await expect(falls(client, '/no/such/file', 'nobody')).rejects.toThrow(NotApplicable);
  });
});
