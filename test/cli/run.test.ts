import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sallyport } from '../e2e/command.js';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-run-'));
  const tools = `
    import { defineTools } from 'sallyport/capabilities';
    export const math = defineTools('math', {
      double: { description: 'Doubles a number', input: { type: 'number' }, output: { type: 'number' }, execute: (n) => n * 2 },
      fail: () => { throw null },
      never: () => new Promise(() => {}),
    });`;
  writeFileSync(join(folder, 'tools.mjs'), tools);
  writeFileSync(join(folder, 'tools.ts'), tools.replace('(n) =>', '(n: number): number =>'));
  writeFileSync(join(folder, 'throws.mjs'), 'throw new Error("no tools today")');
  writeFileSync(join(folder, 'nonsense.mjs'), 'export const a = 5; export default null');
  writeFileSync(join(folder, 'broken.mjs'), 'export const = ');
  writeFileSync(
    join(folder, 'program.ts'),
    'const n: number = 21;\nconst r = await math.double(n);\nconsole.log("got", r);\nr',
  );
  writeFileSync(join(folder, 'fails.js'), 'const a = null;\na.x;\n');
  writeFileSync(join(folder, 'syntax.js'), 'const a = ;\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], input?: string) =>
  sallyport(['run', ...args], { cwd: folder, ...(input === undefined ? {} : { input }) });

describe('sallyport run', () => {
  it('prints the value of a program from standard input', async () => {
    expect(await run(['-'], 'const xs = [1, 2]; xs.map((x) => x * x)')).toMatchObject({
      code: 0,
      stdout: '[\n  1,\n  4\n]\n',
      stderr: '',
    });
    expect(await run(['-'], '"text as it is"')).toMatchObject({ code: 0, stdout: 'text as it is\n' });
    expect(await run(['-'], '')).toMatchObject({ code: 0, stdout: '' });
  });

  it('runs a TypeScript program with tools from a module, and logs to stderr', async () => {
    for (const module of ['tools.mjs', 'tools.ts']) {
      expect(await run(['program.ts', '--tools', module])).toMatchObject({
        code: 0,
        stdout: '42\n',
        stderr: 'got 42\n',
      });
    }
    expect(await run(['program.ts', '--tools', 'tools.mjs', '--isolation', 'process'])).toMatchObject({
      code: 0,
      stdout: '42\n',
    });
  });

  it('shows code, message, the line of the author and a caret for a failure, and exits 1', async () => {
    const failed = await run(['fails.js']);
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    expect(failed.stderr).toMatch(/^runtime_error: TypeError: .*\n {2}at fails\.js:2:\d+\n.*a\.x.*\n *[^\n]*\^/);
    const syntax = await run(['syntax.js']);
    expect(syntax.code).toBe(1);
    expect(syntax.stderr).toMatch(/runtime_error: .*\n {2}at syntax\.js:1:11\n/);
  });

  it('prints the whole result as JSON', async () => {
    const good = await run(['-', '--json'], 'console.log("l"); ({ a: 1 })');
    expect(JSON.parse(good.stdout)).toMatchObject({
      ok: true,
      result: { a: 1 },
      logs: ['l'],
      durationMs: expect.any(Number),
    });
    expect(good.stderr).toBe('');
    const bad = await run(['-', '--json'], 'throw 1');
    expect(bad.code).toBe(1);
    expect(JSON.parse(bad.stdout)).toMatchObject({ ok: false, error: { code: 'runtime_error', message: '1' } });
  });

  it('prints the declarations of the tools', async () => {
    const { code, stdout } = await run(['-', '--tools', 'tools.mjs', '--types']);
    expect(code).toBe(0);
    expect(stdout).toContain('declare namespace math');
    expect(stdout).toContain('Doubles a number');
  });

  it('keeps to its limits', async () => {
    expect((await run(['-', '--timeout', '100'], 'for (;;) {}')).stderr).toMatch(/^timeout: /);
    expect((await run(['-', '--memory', '2000000'], 'const a = []; for (;;) a.push({})')).stderr).toMatch(
      /^memory_limit: /,
    );
    expect((await run(['-', '--tools', 'tools.mjs'], 'await math.fail()')).stderr).toMatch(/^tool_error: /);
    expect((await run(['-', '--tools', 'tools.mjs', '--timeout', '100'], 'await math.never()')).stderr).toMatch(
      /^timeout: /,
    );
  });

  it('lets nothing of a guest reach the terminal as it is', async () => {
    const { stderr } = await run(
      ['-'],
      'console.log("\\u001b[31mred\\u0007"); throw new Error("\\u001b]0;title\\u0007")',
    );
    expect(stderr).not.toMatch(/[\u001b\u0007]/);
  });

  const UNUSABLE: readonly [what: string, args: readonly string[], said: RegExp][] = [
    ['a program that is not there', ['missing.js'], /cannot read missing\.js/],
    ['a folder', ['.'], /cannot read \./],
    ['a tools module that is not there', ['-', '--tools', 'missing.mjs'], /cannot load tools from missing\.mjs/],
    ['a tools module that throws', ['-', '--tools', 'throws.mjs'], /no tools today/],
    ['a tools module that exports nonsense', ['-', '--tools', 'nonsense.mjs'], /exports no tools/],
    ['a tools module that does not parse', ['-', '--tools', 'broken.mjs'], /cannot load tools/],
    ['a negative time limit', ['-', '--timeout', '-5'], /./],
    ['a time limit that is no number', ['-', '--timeout', 'soon'], /soon/],
    ['an isolation that there is not', ['-', '--isolation', 'hope'], /hope/],
  ];
  for (const [what, args, said] of UNUSABLE) {
    it(`says what is wrong with ${what}, and exits 2`, async () => {
      const { code, stdout, stderr } = await run(args, '1');
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(said);
      expect(stderr).not.toMatch(/^\s+at .*\.js:\d+/m);
    });
  }

  it('refuses values that are out of range with a result', async () => {
    expect(await run(['-', '--timeout', '999999999999'], '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('validation_error: timeoutMs'),
    });
    expect(await run(['-', '--memory', '1'], '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('validation_error: memoryLimitBytes'),
    });
  });
});
