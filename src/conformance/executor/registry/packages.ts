import { createHash } from 'node:crypto';

/** A package of the suite's own registry. */
export interface SuitePackage {
  readonly name: string;
  readonly version: string;
  readonly type: 'module' | 'commonjs';
  readonly source: string;
  /** Fields of package.json beside those that every package has. */
  readonly manifest?: Readonly<Record<string, unknown>>;
}

const SCOPE = '@sallyport-conformance';
/** One export for each thing that a tool may do. */
export const TOOLS = `${SCOPE}/tools`;
/** Three versions, one of them under a tag. */
export const VERSIONS = `${SCOPE}/versions`;
export const DEFAULT_TOOL = `${SCOPE}/default-tool`;
export const DEFAULT_OBJECT = `${SCOPE}/default-object`;
export const COMMONJS = `${SCOPE}/commonjs`;
/** Has nothing but an `import` condition in its exports. */
export const IMPORT_ONLY = `${SCOPE}/import-only`;
export const UNSCOPED = 'sallyport-conformance-unscoped';
/** Nobody but the check of caches asks for it. */
export const CACHED = `${SCOPE}/cached`;
/** Throws while it is loaded. */
export const BROKEN = `${SCOPE}/broken`;
/** Is not there. */
export const MISSING = `${SCOPE}/is-not-there`;

const TOOLS_SOURCE = `
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

export const echo = { description: 'Gives back what it is given', execute: async (params) => params };
export const plain = { execute: (params) => ({ got: params ?? null }) };
export const self = { secret: 'mine', execute() { return this.secret; } };
export const nothing = { execute: async () => undefined };
export const environment = { execute: async ({ names }) => Object.fromEntries(names.map((name) => [name, process.env[name] ?? null])) };
export const fails = { execute: async ({ message }) => { throw new Error(message); } };
export const failsAtOnce = { execute({ message }) { throw new TypeError(message); } };
export const failsOddly = { execute: async () => { throw 'not an error'; } };
export const prints = { execute: async () => { console.log('{"success":false}'); console.error('noise'); return 'printed'; } };
export const leaves = { execute: async () => { process.exit(0); } };
export const sleeps = { execute: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)) };
export const busy = { execute({ ms }) { const end = Date.now() + ms; while (Date.now() < end); } };
export const counts = { execute: async () => { globalThis.conformanceCalls = (globalThis.conformanceCalls ?? 0) + 1; return globalThis.conformanceCalls; } };
export const writesFile = { execute: async ({ mark }) => { const file = join(tmpdir(), mark.join('-'), 'left'); mkdirSync(dirname(file)); writeFileSync(file, 'x'); return file; } };
export const removesFile = { execute: async ({ mark, file }) => { if (basename(dirname(file)) === mark.join('-')) rmSync(dirname(file), { recursive: true, force: true }); } };
export const readsFile = { execute: async ({ file }) => existsSync(file) };
export const startsProcess = { execute: async ({ mark, ms }) => { const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, Number(process.argv[1]))', String(ms), mark.join('-')], { stdio: 'ignore' }); child.unref(); return child.pid; } };
const runs = (pid) => {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // One that nobody has reaped yet is not running any more.
  try { return !/\\) [ZX]/.test(readFileSync('/proc/' + pid + '/stat', 'latin1')); } catch { return process.platform !== 'linux'; }
};
export const startsMarked = { execute: async ({ mark, ms }) => {
  spawn(process.execPath, ['-e', 'setTimeout(() => {}, Number(process.argv[1]))', String(4 * ms), mark.join('-')], { stdio: 'ignore' }).unref();
  await new Promise((resolve) => setTimeout(resolve, ms));
} };
const marked = (mark) => {
  const has = (pid) => { try { return readFileSync('/proc/' + pid + '/cmdline', 'latin1').includes(mark); } catch { return false; } };
  try { return readdirSync('/proc').some((pid) => /^[0-9]+$/.test(pid) && has(pid)); } catch { return false; }
};
export const findsMarked = { execute: async ({ mark }) => { for (let left = 20; left > 0 && marked(mark.join('-')); left -= 1) await new Promise((resolve) => setTimeout(resolve, 100)); return marked(mark.join('-')); } };
export const findsProcess = { execute: async ({ pid }) => { for (let left = 20; left > 0 && runs(pid); left -= 1) await new Promise((resolve) => setTimeout(resolve, 100)); return runs(pid); } };
export const cyclic = { execute: async () => { const loop = {}; loop.loop = loop; return loop; } };
export const functionTool = Object.assign(() => 'wrong', { execute: async () => 'right' });
export const factory = () => ({ execute: async (params) => ({ made: params }) });
export const asyncFactory = async () => ({ execute: async () => 'made later' });
export const hollow = { description: 'has no execute' };
export const text = 'only a text';
export const hollowFactory = () => ({ description: 'makes nothing that has execute' });
export const numbers = { execute: async () => ({ integer: 42, fraction: 0.5, nothing: null, yes: true, text: 'é😀', list: [1, [2]], empty: {} }) };
`;

const tool = (result: string): string => `export const which = { execute: async () => ${JSON.stringify(result)} };`;

/** A version that changes with the source: who has cached another one must not take it for this. */
function versionOf(source: string): string {
  return `1.0.${createHash('sha256').update(source).digest().readUInt32BE()}`;
}

/** Everything that the registry has. The last version of a package is its latest, unless tags say otherwise. */
export const PACKAGES: readonly SuitePackage[] = [
  { name: TOOLS, version: versionOf(TOOLS_SOURCE), type: 'module', source: TOOLS_SOURCE },
  { name: VERSIONS, version: '1.0.0', type: 'module', source: tool('1.0.0') },
  { name: VERSIONS, version: '1.2.0', type: 'module', source: tool('1.2.0') },
  { name: VERSIONS, version: '2.0.0-beta.1', type: 'module', source: tool('2.0.0-beta.1') },
  {
    name: DEFAULT_TOOL,
    version: '1.0.0',
    type: 'module',
    source: "export default { name: 'onlyTool', execute: async () => 'the default export' };",
    manifest: { tpmjs: { tools: [{ name: 'onlyTool' }] } },
  },
  {
    name: DEFAULT_OBJECT,
    version: '1.0.0',
    type: 'module',
    source: "export default { inside: { execute: async () => 'inside the default export' } };",
  },
  {
    name: COMMONJS,
    version: '1.0.0',
    type: 'commonjs',
    source: "exports.old = { execute: async () => 'from CommonJS' };",
  },
  {
    name: IMPORT_ONLY,
    version: '1.0.0',
    type: 'module',
    source: "export const modern = { execute: async () => 'from import' };",
    manifest: { exports: { '.': { import: './index.js' } }, main: undefined },
  },
  { name: UNSCOPED, version: '1.0.0', type: 'module', source: tool('unscoped') },
  { name: CACHED, version: '1.0.0', type: 'module', source: tool('cached') },
  { name: BROKEN, version: '1.0.0', type: 'module', source: "throw new Error('broken while it is loaded');" },
];

/** Tags beside `latest`. */
export const TAGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [VERSIONS]: { latest: '1.2.0', beta: '2.0.0-beta.1' },
};
