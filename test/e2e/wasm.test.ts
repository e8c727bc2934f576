import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createSink, openWasm, serveDuplex } from 'sallyport/wasm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sallyport } from './command.js';

const guest = (path: string): string => fileURLToPath(new URL(`../../examples/wasm/${path}`, import.meta.url));
const C_GUEST = guest('c/guest.wasm');

function file(name: string, content: string | Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-e2e-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe('sallyport wasm', () => {
  it.each(['c/guest.wasm', 'zig/guest.wasm', 'assemblyscript/guest.wasm', 'rust/guest.wasm'])(
    'calls a function of %s',
    async (path) => {
      expect(await sallyport(['wasm', guest(path), 'add', '[20, 22]'])).toMatchObject({
        code: 0,
        stdout: '42\n',
        stderr: '',
      });
    },
  );

  it('prints a stream as lines of JSON and the result beside it', async () => {
    const run = await sallyport(['wasm', C_GUEST, 'produce', '{"count":3,"size":4}', '--stream']);
    expect(run).toMatchObject({ code: 0, stderr: 'result: 3\n' });
    expect(
      run.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([{ base64: 'AAAAAA==' }, { base64: 'AQAAAA==' }, { base64: 'AgAAAA==' }]);
  });

  it('grants the functions of a module and reads parameters from standard input', async () => {
    const grant = file('grant.mjs', "export default { shout: (text) => text + '!' };");
    const run = await sallyport(['wasm', C_GUEST, 'callHost', '-', '--grant', grant], {
      input: '{"name":"shout","params":"hey"}',
    });
    expect(run).toMatchObject({ code: 0, stdout: '"hey!"\n' });
  });

  it('says what went wrong in one line, with an exit code that means something', async () => {
    const text = file('text.wasm', 'not a module');
    const runs = await Promise.all([
      sallyport(['wasm', C_GUEST, 'divide', '[1,0]']),
      sallyport(['wasm', C_GUEST, 'callHost', '{"name":"rm"}']),
      sallyport(['wasm', C_GUEST, 'sleep', '60000', '--timeout', '300ms']),
      sallyport(['wasm', text, 'add']),
      sallyport(['wasm', '/nowhere.wasm', 'add']),
      sallyport(['wasm', C_GUEST, 'add', '[1,']),
      sallyport(['wasm', C_GUEST, 'add', '[]', '--memory', '64KB']),
      sallyport(['wasm', C_GUEST, 'add', '[]', '--timeout', 'soon']),
      sallyport(['wasm', C_GUEST, 'add', '[]', '--runtime', 'bun']),
    ]);
    expect(runs.map(({ code }) => code)).toEqual([1, 1, 1, 2, 2, 2, 2, 2, 2]);
    for (const { stderr } of runs) expect(stderr).not.toContain('    at ');
    expect(runs[0]?.stderr).toBe('sallyport: Division by zero (WASM_CALL_FAILED)\n');
    expect(runs[1]?.stderr).toContain('WASM_NOT_GRANTED');
    expect(runs[2]?.stderr).toContain('WASM_TIMEOUT');
    expect(runs[3]?.stderr).toContain('WASM_MODULE_INVALID');
    expect(runs[6]?.stderr).toContain('WASM_MODULE_MEMORY');
  });

  it('inspects a module, for people and for programs', async () => {
    const component = file('component.wasm', Buffer.from('0061736d0d000100', 'hex'));
    const [people, programs, bad] = await Promise.all([
      sallyport(['wasm', 'inspect', C_GUEST]),
      sallyport(['wasm', 'inspect', C_GUEST, '--json']),
      sallyport(['wasm', 'inspect', component]),
    ]);
    expect(people).toMatchObject({ code: 0 });
    expect(people.stdout).toMatch(/^sha256\s+[0-9a-f]{64}$/m);
    expect(people.stdout).toMatch(/^runs\s+yes$/m);
    expect(JSON.parse(programs.stdout)).toMatchObject({
      kind: 'core',
      runs: true,
      memory: { initial: expect.any(Number) },
    });
    expect(bad).toMatchObject({ code: 1, stdout: expect.stringContaining('WASM_MODULE_COMPONENT') });
    // A command whose one function drops what is not there: only a compiler sees it.
    const invalid = Buffer.from(
      '0061736d01000000010401600000030201000503010001071302066d656d6f72790200065f737461727400000a050103001a0b',
      'hex',
    );
    const body = await sallyport(['wasm', 'inspect', file('invalid.wasm', invalid)]);
    expect(body).toMatchObject({ code: 1, stdout: expect.stringMatching(/^runs\s+no\n.*WASM_START_FAILED/m) });
  });
});

describe('the built package', () => {
  it('opens a guest', async () => {
    await using client = await openWasm(C_GUEST);
    expect(await client.call['add']?.([1, 2])).toBe(3);
    const stream = createSink();
    expect(await client.call['produce']?.({ stream, count: 2, size: 4 })).toBe(2);
    expect(typeof serveDuplex).toBe('function');
  });
});
