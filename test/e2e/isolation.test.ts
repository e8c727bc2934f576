import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { here } from '../sandbox/container/rooms.js';
import { sallyport } from './command.js';

const GUEST = fileURLToPath(new URL('../../examples/wasm/c/guest.wasm', import.meta.url));
const EXECUTE = `${JSON.stringify({ type: 'execute', id: '1', code: '1 + 1', options: {}, providers: [] })}\n`;

/** The commands whose caller decides what confines the code, and what each prints when it works. */
const COMMANDS: readonly { args: readonly string[]; input: string; prints: RegExp }[] = [
  { args: ['run', '-'], input: 'return 6 * 7', prints: /^42$/m },
  { args: ['runner'], input: EXECUTE, prints: /"ok":true,"result":2/ },
  { args: ['wasm', GUEST, 'add', '[1, 2]'], input: '', prints: /^3$/m },
];

describe.each(COMMANDS)('sallyport $args.0 --isolation container', ({ args, input, prints }) => {
  it.runIf(here.available)('does the same as without', async () => {
    const { code, stdout, stderr } = await sallyport([...args, '--isolation', 'container'], { input });
    expect(stderr).toBe('');
    expect(stdout).toMatch(prints);
    expect(code).toBe(0);
  });

  it('refuses where it cannot be enforced, with the package to install', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'sallyport-empty-'));
    onTestFinished(() => rmSync(empty, { recursive: true }));
    const { code, stdout, stderr } = await sallyport([...args, '--isolation', 'container'], {
      input,
      env: { PATH: empty },
    });
    expect(stderr).toMatch(/^sallyport: --isolation: .*`bwrap`.*apt-get install bubblewrap.*\n$/);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});
