import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const documents = ['.', 'docs'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  const words = heading.replace(/^#+ /, '').toLowerCase();
  return words.replaceAll(/[^\w\s-]/g, '').replaceAll(/\s/g, '-');
}

function anchorsOf(file: string): Set<string> {
  const lines = readFileSync(file, 'utf8').split('\n');
  return new Set(lines.filter((line) => /^#+ /.test(line)).map(anchorOf));
}

/** What is wrong with a link, or nothing. */
function complaintAbout(link: string, from: string): string | undefined {
  const [path = '', anchor] = link.split('#');
  const file = path === '' ? join(root, from) : join(root, dirname(from), path);
  if (!existsSync(file)) return `${link}: no such file`;
  return anchor === undefined || anchorsOf(file).has(anchor) ? undefined : `${link}: no such heading`;
}

/** What looks like a link in code is none. */
const CODE = /^```.*?^```|`[^`\n]+`/gms;

describe.each(documents)('the links in %s', (name) => {
  it('lead to files and headings that exist', () => {
    const text = readFileSync(join(root, name), 'utf8');
    const links = [...text.replaceAll(CODE, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    const local = links.filter((link) => !/^https?:/.test(link));
    expect(local.flatMap((link) => complaintAbout(link, name) ?? [])).toEqual([]);
  });
});
