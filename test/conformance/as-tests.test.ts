import { describe, expect, it } from 'vitest';
import { suite } from '../../src/conformance/index.js';
import { SALLYPORT } from '../e2e/command.js';
import { GOOD } from './ping-suite.js';

describe('checks as tests of a framework', () => {
  it('pass for a target that conforms', async () => {
    const target = { kind: 'command', argv: [process.execPath, SALLYPORT, 'runner'] } as const;
    const [check, ...others] = await suite('runner', target, { only: ['runner.session.one-done'] });
    expect(others).toEqual([]);
    expect(check).toMatchObject({ id: 'runner.session.one-done', level: 'MUST' });
    expect(await check?.run()).toEqual({ status: 'passed' });
  });

  it('reject with all there is to say for one that does not', async () => {
    const [check] = await suite('runner', GOOD, { only: ['runner.session.one-done'], limitMs: 5_000 });
    const failure = await check?.run().catch((error: unknown) => error);
    expect(String(failure)).toContain('runner.session.one-done');
    expect(String(failure)).toContain('expected:  done with id exec-1');
    expect(String(failure)).toContain('← {"type":"pong"}');
  });
});
