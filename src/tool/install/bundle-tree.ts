import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import type { BundleAnswer, BundleJob } from './jobs.js';

/**
 * What makes a module depend on where its file lies, or load others in ways a bundler cannot follow. A tree that holds
 * any of it is left as it is: being slower is better than being different.
 */
const PLACE_DEPENDENT =
  /\bimport\.meta\b|\b__dirname\b|\b__filename\b|\brequire\.(?:resolve|main|cache|extensions)\b|\bcreateRequire\b|\bmodule\.(?:parent|paths|children|filename|id|require|createRequire)\b|\bprocess\.mainModule\b|\bprocess\.argv\b|\bnew Worker\b|\bworker_threads\b|\bchild_process\b|\.node['"`]|\.wasm\b|\bnode_modules\b|\beval\(|\bnew Function\b|\bimport\(\s*[^'"`\s)]|[^.\w$]require\(\s*[^'"`\s)]|\bError\.prepareStackTrace\b|\bError\.captureStackTrace\.name\b/;
/** Mentions of the above inside comments and the bundler's own runtime do not count. */
const RUNTIME_MODULE = /^\0?rolldown[/:]runtime/;
const BUNDLE_MAX_BYTES = 16 * 1024 * 1024;

const withoutComments = (code: string): string => code.replace(/\/\*[\s\S]*?\*\/|(^|[^:'"`\\])\/\/[^\n]*/g, '$1');

/** Bundles a tree's entry into one file next to it, if that cannot change what it does. */
export async function bundleTree(job: BundleJob): Promise<BundleAnswer> {
  const refused: string[] = [];
  const warnings: string[] = [];
  const input = join(job.folder, 'load.mjs');
  const build = await rolldown({
    input,
    cwd: job.folder,
    platform: 'node',
    logLevel: 'warn',
    onLog: (_level, log) => {
      if (log.code !== 'CIRCULAR_DEPENDENCY' && log.code !== 'EVAL') warnings.push(`${log.code}: ${log.message}`);
      if (log.code === 'EVAL') refused.push('eval');
    },
    resolve: { conditionNames: ['node', 'import', 'module-sync', 'default'], mainFields: ['main'], symlinks: true },
    plugins: [
      {
        name: 'place-dependent',
        transform(code, id) {
          if (id === input || RUNTIME_MODULE.test(id)) return null;
          const found = PLACE_DEPENDENT.exec(code) === null ? null : PLACE_DEPENDENT.exec(withoutComments(code));
          if (found !== null) refused.push(`${id.slice(job.folder.length + 1)}: ${found[0]}`);
          return null;
        },
      },
    ],
  });
  try {
    const { output } = await build.generate({ format: 'esm', codeSplitting: false, keepNames: true, minify: false });
    const [chunk] = output;
    if (refused.length > 0) return { made: false, reason: `depends on its place: ${refused.slice(0, 3).join('; ')}` };
    if (warnings.length > 0) return { made: false, reason: `not bundled cleanly: ${warnings.slice(0, 3).join('; ')}` };
    if (output.length !== 1 || chunk === undefined || chunk.type !== 'chunk') {
      return { made: false, reason: 'the tree does not fit into one file' };
    }
    if (chunk.code.length > BUNDLE_MAX_BYTES) return { made: false, reason: 'the bundle is too large' };
    const target = join(job.folder, 'bundle.mjs');
    const draft = `${target}.draft`;
    await writeFile(draft, chunk.code);
    await rename(draft, target);
    return { made: true, bytes: Buffer.byteLength(chunk.code) };
  } finally {
    await build.close();
  }
}
