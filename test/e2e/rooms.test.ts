import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const biome = join(dirname(createRequire(import.meta.url).resolve('@biomejs/biome/package.json')), 'bin', 'biome');

/** Lints one file that would stand in a room and import something. */
function lint(room: string, from: string): { code: number | null; output: string } {
  // A rule holds for a room before anything is in it.
  const made = mkdirSync(join(root, 'src', room), { recursive: true });
  const folder = mkdtempSync(join(root, 'src', room, 'lint-probe-'));
  onTestFinished(() => rmSync(made ?? folder, { recursive: true, force: true }));
  const file = join(folder, 'probe.ts');
  writeFileSync(file, `import { thing } from '${from}';\n\nexport const used = thing;\n`);
  const done = spawnSync(process.execPath, [biome, 'lint', file], { cwd: root, encoding: 'utf8' });
  return { code: done.status, output: done.stdout + done.stderr };
}

describe('the rule about which room may import which', () => {
  it.each([
    ['errors', '../../wire/index.js'],
    ['wire', '../../sandbox/index.js'],
    ['sandbox', '../../wire/index.js'],
    ['capabilities', '../../guest/index.js'],
    ['guest', '../../process/index.js'],
    ['wasm', '../../guest/index.js'],
    ['tool', '../../server/index.js'],
    ['process', '../../cli/program.js'],
    ['conformance', '../../guest/index.js'],
  ])('refuses that %s imports %s', (room, from) => {
    const { code, output } = lint(room, from);
    expect(output).toContain('noRestrictedImports');
    expect(code).not.toBe(0);
  });

  it.each([
    ['wire', '../../errors/index.js'],
    ['wire', '../json.js'],
    ['capabilities', '../../wire/index.js'],
    ['guest', '../../capabilities/index.js'],
    ['process', '../../sandbox/index.js'],
    ['server', '../../guest/index.js'],
    ['conformance', '../../sandbox/index.js'],
    ['cli', '../../server/index.js'],
  ])('lets %s import %s', (room, from) => {
    expect(lint(room, from)).toMatchObject({ code: 0 });
  });
});
