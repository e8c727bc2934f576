// Writes docs/errors.md from the registry of the built package (--write), or checks that it is current (--check).
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'docs', 'errors.md');
const { ERROR_REGISTRY } = await import('../dist/errors/index.js');

const rooms = new Map();
for (const [code, entry] of Object.entries(ERROR_REGISTRY)) {
  rooms.set(entry.room, [...(rooms.get(entry.room) ?? []), [code, entry]]);
}
const lines = [
  '# Error codes',
  '',
  '<!-- Made by `npm run docs` from src/errors/registry.ts. Edit that file, not this one. -->',
  '',
  'Every error that Sallyport throws is a `SallyportError` with a stable `code`, a message for people, and `facts` for',
  'programs. Codes that travel on a wire (`timeout`, `PACKAGE_NOT_FOUND`, `-32602`, …) are those of the protocols.',
];
for (const [room, entries] of rooms) {
  lines.push('', `## ${room}`, '', '| code | what happened | what to do |', '|---|---|---|');
  for (const [code, entry] of entries) lines.push(`| \`${code}\` | ${entry.meaning} | ${entry.remedy} |`);
}
const text = `${lines.join('\n')}\n`;

if (process.argv.includes('--write')) {
  writeFileSync(target, text);
  console.log('wrote docs/errors.md');
} else if (readFileSync(target, 'utf8') !== text) {
  console.error('docs/errors.md is out of date: run `npm run docs`');
  process.exit(1);
}
