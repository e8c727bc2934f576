import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openWasm } from '../../../src/wasm/index.js';
import { loadModule } from '../../../src/wasm/module/load.js';
import { failure } from '../guests.js';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'load-module-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('loadModule', () => {
  it('hands out a copy of bytes that their owner may change', async () => {
    const mine = Uint8Array.of(1, 2, 3);
    const copy = await loadModule(mine, { moduleBytes: 10 });
    mine.fill(0);
    expect([...copy]).toEqual([1, 2, 3]);
  });

  it('reads no more of a large file than it takes to see that it is too large', async () => {
    const file = join(folder(), 'large.wasm');
    writeFileSync(file, '');
    truncateSync(file, 3 * 1024 ** 3);
    expect(await loadModule(file, { moduleBytes: 100 })).toHaveLength(101);
    expect(await failure(openWasm(file))).toMatchObject({ code: 'WASM_MODULE_TOO_LARGE' });
  });

  it.each(['/dev/zero', '/'])('refuses %s, which is no file', async (path) => {
    expect(await failure(loadModule(path, { moduleBytes: 100 }))).toMatchObject({
      code: 'WASM_MODULE_UNREADABLE',
      message: expect.stringContaining('is not a file'),
    });
  });

  it('does not wait for somebody to write into a named pipe', async () => {
    const pipe = join(folder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(await failure(loadModule(pipe, { moduleBytes: 100 }))).toMatchObject({ code: 'WASM_MODULE_UNREADABLE' });
  });
});
