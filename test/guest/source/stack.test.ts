import { describe, expect, it } from 'vitest';
import { MAX_STACK_FRAMES } from '../../../src/guest/limits.js';
import { mapStack, prepareSource } from '../../../src/guest/source/index.js';
import { runScript } from './engine.js';

async function stackOf(source: string): Promise<string> {
  const prepared = prepareSource(source);
  if (!prepared.ok) throw new Error(prepared.error.message);
  const outcome = await runScript(prepared.script);
  if (!('error' in outcome)) throw new Error('the program did not fail');
  return mapStack(outcome.stack, { origin: prepared.origin });
}

const origin = { lineOffset: 1, lineCount: 10 };

describe('mapStack', () => {
  it('shows the lines of the author', async () => {
    const source = 'function foo() {\n  throw new Error("x");\n}\n[1].map(() => foo());\n5';
    expect(await stackOf(source)).toBe(
      '    at foo (guest.js:2:13)\n    at <anonymous> (guest.js:4:15)\n    at <anonymous> (guest.js:4:5)',
    );
  });

  it('shows the columns of the author behind an inserted return', async () => {
    expect(await stackOf('1;\n2; missing.call()')).toBe('    at <anonymous> (guest.js:2:4)');
  });

  it('shows the lines of a fenced and of a typed program', async () => {
    expect(
      await stackOf('```ts\ninterface A {\n}\nconst f = (): void => { throw new Error("x") };\nf();\n```'),
    ).toContain('at f (guest.js:4:');
  });

  it('leaves out the call that the wrapper makes', async () => {
    expect(await stackOf('function main() { throw new Error("x") }')).toMatch(/^ {4}at main \(guest\.js:1:\d+\)$/);
  });

  it('maps the place of a syntax error', () => {
    expect(mapStack('    at guest.js:3:9\n', { origin })).toBe('    at guest.js:2:9');
  });

  it('drops frames of other files and whatever else a guest writes there', () => {
    const forged = [
      'Error: at /etc/passwd',
      '    at map (native)',
      '    at run (/srv/host/engine.js:10:5)',
      '    at x (guest.js:2:1) (file:///host.js:1:1)',
      '    at \u001b[31mred (guest.js:3:1)',
      '    at wrapper (guest.js:1:1)',
      '    at suffix (guest.js:99:1)',
      '    at <eval> (<input>:1:1)',
    ].join('\n');
    expect(mapStack(forged, { origin })).toBe('    at \\u001b[31mred (guest.js:2:1)');
  });

  it('bounds what it reads and what it returns', () => {
    const long = '    at f (guest.js:2:1)\n'.repeat(100_000);
    expect(mapStack(long, { origin }).split('\n')).toHaveLength(MAX_STACK_FRAMES);
    expect(mapStack(`    at ${'n'.repeat(1000)} (guest.js:2:1)`, { origin }).length).toBeLessThan(150);
  });

  it('takes another file name', () => {
    expect(mapStack('    at f (job.js:2:1)', { origin, fileName: 'job.js' })).toBe('    at f (job.js:1:1)');
  });
});
