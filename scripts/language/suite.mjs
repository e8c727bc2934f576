// The official conformance tests of the language (test262), as far as the npm registry has them: an exact version, checked by its hash, read
// from the tarball without unpacking it.
import pacote from 'pacote';
import { Parser } from 'tar';

const SPEC = '@gerhobbelt/test262@3.0.0-4';
const INTEGRITY = 'sha512-FQEKku39qtlJEIRFVAxXHFu6vQcC1yS0y4Mta5nDo2WZFL8DITsgMptiTIoK9ori6Q530HB6SiCdVYlFLLHVeA==';
/** The parts that concern the language and what comes with it; not its internationalization, and not web browsers. */
const PARTS = /^package\/test\/(language|built-ins)\/.*\.js$/;

/** Reads the tests, sorted by path, and the files that they include. */
export async function readSuite() {
  const tarball = await pacote.tarball(SPEC, { integrity: INTEGRITY });
  const tests = [];
  const harness = new Map();
  await new Promise((resolve, reject) => {
    const parser = new Parser({
      onReadEntry: (entry) => {
        const [, include] = /^package\/harness\/(.*\.js)$/.exec(entry.path) ?? [];
        const wanted = include !== undefined || (PARTS.test(entry.path) && !entry.path.endsWith('_FIXTURE.js'));
        if (!wanted) return entry.resume();
        const chunks = [];
        entry.on('data', (chunk) => chunks.push(chunk));
        entry.on('end', () => {
          const source = Buffer.concat(chunks).toString('utf8');
          if (include !== undefined) harness.set(include, source);
          else tests.push({ path: entry.path.replace('package/test/', ''), source, ...frontmatter(source) });
        });
      },
    });
    parser.on('end', resolve);
    parser.on('error', reject);
    parser.end(tarball);
  });
  tests.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { name: SPEC, tests, harness };
}

/** What a test says about itself. */
function frontmatter(source) {
  const text = /\/\*---([\s\S]*?)---\*\//.exec(source)?.[1] ?? '';
  const list = (name) => {
    const inline = new RegExp(`^${name}:\\s*\\[([^\\]]*)\\]`, 'm').exec(text)?.[1];
    if (inline !== undefined)
      return inline
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
    const block = new RegExp(`^${name}:\\s*\\n((?:\\s+- .*\\n?)+)`, 'm').exec(text)?.[1] ?? '';
    return [...block.matchAll(/- (.*)/g)].map(([, item]) => item.trim());
  };
  const negative = /^negative:/m.test(text)
    ? { phase: /phase:\s*(\w+)/.exec(text)?.[1], type: /type:\s*(\w+)/.exec(text)?.[1] }
    : undefined;
  return { flags: list('flags'), includes: list('includes'), features: list('features'), negative };
}

/** Why a test cannot be asked of a guest at all; undefined for one that can. */
export function skipReason({ flags, source, includes }) {
  if (flags.includes('module')) return 'modules: a program has no imports and exports';
  if (flags.includes('CanBlockIsFalse') || flags.includes('CanBlockIsTrue')) return 'agents that block';
  if (/\$262\b/.test(source) || includes.includes('detachArrayBuffer.js'))
    return 'needs a host object for tests (realms, agents, detaching)';
  return undefined;
}

/** The script of a test: what it includes, then itself. */
export function scriptOf({ flags, includes, source }, harness) {
  if (flags.includes('raw')) return source;
  const strict = flags.includes('onlyStrict') ? '"use strict";\n' : '';
  const files = ['assert.js', 'sta.js', ...includes].map((name) => harness.get(name) ?? '');
  return `${strict}${files.join('\n')}\n${source}`;
}
