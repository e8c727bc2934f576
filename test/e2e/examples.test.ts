import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SALLYPORT } from './command.js';
import { examplesOf, type Fence, fencesOf, filesOf } from './markdown.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Whatever this machine installs from: the examples have a home of their own, without its configuration. */
const REGISTRY = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();

/** Languages whose blocks a reader would copy and run. */
const RUNNABLE: ReadonlySet<string> = new Set(['js', 'mjs', 'ts', 'sh', 'bash']);

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs')).map((name) => join('docs', name)),
].filter((name) => name.endsWith('.md'));

const examples = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.mjs'))
  .sort();

/** A folder as a user has it: this package, a schema library and a web framework installed, and the command on the path. */
function userFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-examples-'));
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, '.bin'), { recursive: true });
  symlinkSync(root, join(modules, 'sallyport'));
  for (const name of ['zod', 'fastify']) symlinkSync(join(root, 'node_modules', name), join(modules, name));
  symlinkSync(SALLYPORT, join(modules, '.bin', 'sallyport'));
  return folder;
}

const home = mkdtempSync(join(tmpdir(), 'sallyport-home-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Runs a program to its end, in a group of its own: whatever an example leaves running ends with it. */
async function stdoutOf(program: string, args: readonly string[], cwd: string): Promise<string> {
  const path = [join(cwd, 'node_modules', '.bin'), dirname(process.execPath), process.env['PATH'] ?? ''];
  const env = { PATH: path.join(delimiter), HOME: home, npm_config_registry: REGISTRY };
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const [code] = await once(child, 'exit');
  clearTimeout(timer);
  try {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  } catch {
    // Nothing is left.
  }
  const [stdout, stderr] = await output;
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}${stdout}`);
  return stdout;
}

function runFence({ language, text, line }: Fence, folder: string): Promise<string> {
  if (language === 'sh') return stdoutOf('/bin/sh', ['-euc', text], folder);
  if (language !== 'js') throw new Error(`only js and sh can be run, not ${JSON.stringify(language)}`);
  const file = join(folder, `line-${line}.mjs`);
  writeFileSync(file, text);
  return stdoutOf(process.execPath, [file], folder);
}

describe.each(documents)('the examples in %s', (name) => {
  const fences = fencesOf(readFileSync(join(root, name), 'utf8'));
  let folder = '';

  beforeAll(() => {
    folder = userFolder();
    for (const [file, text] of filesOf(fences)) writeFileSync(join(folder, file), text);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('are all run, or say why not', () => {
    const unmarked = fences.filter(({ language, mark }) => RUNNABLE.has(language) && mark === '');
    expect(unmarked.map(({ line }) => `${name}:${line}`)).toEqual([]);
  });

  for (const { fence, prints } of examplesOf(fences)) {
    it(`run: line ${fence.line}`, async () => {
      const stdout = await runFence(fence, folder);
      if (prints !== undefined) expect(stdout).toBe(prints);
    });
  }
});

/** What an example says at its end that it prints. */
function promisedBy(source: string): string | undefined {
  const [, comment] = source.split('\n// Prints:\n');
  return comment?.replaceAll(/^\/\/ ?/gm, '');
}

describe('the programs in examples/', () => {
  let folder = '';

  beforeAll(() => {
    folder = userFolder();
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(examples)('%s prints what it says it prints', async (name) => {
    const file = join(root, 'examples', name);
    const promised = promisedBy(readFileSync(file, 'utf8'));
    expect(promised, `${relative(root, file)} ends with a comment that starts with "Prints:"`).toBeDefined();
    expect(await stdoutOf(process.execPath, [file], folder)).toBe(promised);
  });
});
