// Writes the generated parts of docs/conformance.md from the suites of the built package (--write), or checks that they
// are current (--check).
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'docs', 'conformance.md');
const { SUITES, coverageMarkdown, recommendedMarkdown } = await import('../dist/conformance/index.js');

const suites = await Promise.all(SUITES.map(({ load }) => load()));
const parts = { coverage: coverageMarkdown(suites), recommended: recommendedMarkdown(suites) };

const before = readFileSync(target, 'utf8');
let after = before;
for (const [name, text] of Object.entries(parts)) {
  const begin = `<!-- ${name}: made by \`npm run docs\` -->\n`;
  const end = `<!-- end of ${name} -->\n`;
  const from = after.indexOf(begin);
  const to = after.indexOf(end);
  if (from === -1 || to < from) throw new Error(`docs/conformance.md has no place for the ${name}`);
  after = `${after.slice(0, from)}${begin}\n${text}\n${after.slice(to)}`;
}

if (process.argv.includes('--write')) {
  writeFileSync(target, after);
  console.log('wrote docs/conformance.md');
} else if (after !== before) {
  console.error('docs/conformance.md is out of date: run `npm run docs`');
  process.exit(1);
}
