import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Visibility } from '../../src/sandbox/container/visible.js';
import { checkRequest } from '../../src/sandbox/request.js';
import { resolveProgram } from '../../src/sandbox/resolve-program.js';
import { shell } from './helpers.js';

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-program-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('resolveProgram', () => {
  it('does not wait for a FIFO that was put in the place of a script', () => {
    const fifo = join(scratch(), 'fifo');
    execFileSync('mkfifo', [fifo]);
    const writer = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(writer));
    // Whoever read it would believe this.
    writeSync(writer, '#!/no/such/interpreter\n');
    expect(resolveProgram(fifo, new Map(), '/', (path) => (path === fifo ? undefined : 'ENOENT'))).toBe(fifo);
  });
});

describe('a program that is not visible inside', () => {
  it('is refused the same way whether it is there or not', () => {
    const folder = scratch();
    const at = (name: string): string => join(folder, name);
    for (const name of ['work', 'hidden', 'hidden/folder']) mkdirSync(at(name));
    const write = (name: string, text: string, mode: number): void => {
      writeFileSync(at(name), text);
      chmodSync(at(name), mode);
    };
    write('hidden/runs', '', 0o755);
    write('hidden/plain', '', 0o644);
    const targets = ['runs', 'plain', 'absent', 'plain/below', 'folder'];
    targets.forEach((target, index) => {
      symlinkSync(at(`hidden/${target}`), at(`work/link${index}`));
      write(`work/script${index}`, `#!${at(`hidden/${target}`)}\n`, 0o755);
    });
    const visibility = new Visibility([], { read: [], write: [at('work')], hide: [] });
    const errorOf = (program: string, quoted: string): string => {
      try {
        return visibility.program(checkRequest(shell('', { argv: [program], cwd: at('work') })));
      } catch (error) {
        return String(error).replaceAll(quoted, 'IT');
      }
    };
    const direct = targets.map((target) => errorOf(at(`hidden/${target}`), at(`hidden/${target}`)));
    expect(new Set(direct)).toEqual(new Set([expect.stringContaining('IT is not visible inside: no such file')]));
    const links = targets.map((_, index) => errorOf(at(`work/link${index}`), `link${index}`));
    expect(new Set(links)).toEqual(new Set([expect.stringContaining('no such file or directory (ENOENT)')]));
    const scripts = targets.map((target, index) =>
      errorOf(at(`work/script${index}`), `script${index}`).replace(at(`hidden/${target}`), 'IT'),
    );
    expect(new Set(scripts)).toEqual(new Set([expect.stringContaining('interpreter IT: no such file')]));
  });
});
