import { execFileSync, type StdioOptions } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { noteLeakyHandle, sealStdio } from '../../src/sandbox/inherited-handles.js';

const plain = ['ignore', 'pipe', 'pipe'] as const;

test('children see nothing of what the server itself was started with', () => {
  const file = fileURLToPath(new URL('./fixtures/inherits.mjs', import.meta.url));
  const secret = openSync('/etc/passwd', 'r');
  try {
    const stdio: StdioOptions = ['ignore', 'pipe', 'inherit', secret, 'ignore', secret, secret];
    const seen: string[][] = JSON.parse(execFileSync(process.execPath, [file], { stdio, encoding: 'utf8' }));
    expect(seen).toHaveLength(2);
    expect(seen.flat().length).toBeGreaterThan(0);
    for (const targets of seen) expect(targets.filter((target) => target !== '/dev/null')).toEqual([]);
  } finally {
    closeSync(secret);
  }
});

test('a noted handle is covered until the note is taken back', () => {
  const before = sealStdio([...plain]);
  const forget = noteLeakyHandle(40);
  const sealed = sealStdio([...plain]);
  expect(sealed).toHaveLength(Math.max(41, before.length));
  expect(sealed.slice(0, 3)).toEqual(plain);
  expect(sealed[40]).toEqual(expect.any(Number));
  expect(sealed[39]).toBe(before[39] ?? 'ignore');
  forget();
  expect(sealStdio([...plain])).toEqual(before);
});

test('a note taken back late does not uncover the handle that has the number by then', () => {
  const before = sealStdio([...plain]);
  const first = noteLeakyHandle(41);
  const second = noteLeakyHandle(41);
  first();
  expect(sealStdio([...plain])[41]).toEqual(expect.any(Number));
  second();
  expect(sealStdio([...plain])).toEqual(before);
});

test('a number that the child was given on purpose is left as it is', () => {
  const forget = noteLeakyHandle(3);
  expect(sealStdio(['ignore', 'pipe', 'pipe', 'pipe'])[3]).toBe('pipe');
  forget();
});
