import { realpath, rename, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { rolldown } from 'rolldown';
import type { BundleAnswer, BundleJob } from './jobs.js';

/**
 * What makes a module depend on where its file lies, or load others in ways a bundler cannot follow. A tree that holds
 * any of it is left as it is: being slower is better than being different.
 */
const PLACE_DEPENDENT =
  /\bimport\.meta\b|\b__dirname\b|\b__filename\b|\brequire\.(?:resolve|main|cache|extensions)\b|\bcreateRequire\b|\bmodule\.(?:parent|paths|children|filename|id|require|createRequire)\b|\bprocess\.mainModule\b|\bprocess\.argv\b|\bnew Worker\b|\bworker_threads\b|\bchild_process\b|\.node['"`]|\.wasm\b|\bnode_modules\b|\beval\(|\bnew Function\b|\bimport\(\s*[^'"`\s)]|[^.\w$]require\(\s*[^'"`\s)]|\bError\.prepareStackTrace\b|\bError\.captureStackTrace\.name\b/;
/** The bundler's own module is no file of the tree. */
const RUNTIME_MODULE = '\0rolldown/runtime.js';
const BUNDLE_MAX_BYTES = 16 * 1024 * 1024;

/**
 * Leaves comments out: what they mention does not count. One that nothing ends is taken in one piece and kept, so that
 * the time grows with the text and not with its square.
 */
export function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?(?:\*\/|$)|(^|[^:'"`\\])\/\/[^\n]*/g, (found, before = '') =>
    found.startsWith('/*') && !found.endsWith('*/') ? found : before,
  );
}

/** Bundles a tree's entry into one file next to it, if that cannot change what it does. */
export async function bundleTree(job: BundleJob): Promise<BundleAnswer> {
  const code = await bundleOf(job.folder).catch(() => undefined);
  if (code === undefined) return { made: false };
  const target = join(job.folder, 'bundle.mjs');
  const draft = `${target}.draft`;
  await writeFile(draft, code);
  await rename(draft, target);
  return { made: true };
}

/** The code of a tree's bundle, or nothing when a bundle would not be the same as the tree. Rejects for what cannot be bundled. */
async function bundleOf(folder: string): Promise<string | undefined> {
  const root = await realpath(folder);
  const input = join(root, 'load.mjs');
  let clean = true;
  const build = await rolldown({
    input,
    cwd: root,
    platform: 'node',
    // It would be looked for in the folders around the tree, too.
    tsconfig: false,
    logLevel: 'warn',
    onLog: (_level, log) => {
      if (log.code !== 'CIRCULAR_DEPENDENCY') clean = false;
    },
    resolve: { conditionNames: ['node', 'import', 'module-sync', 'default'], mainFields: ['main'], symlinks: true },
    plugins: [
      {
        name: 'inside-of-the-tree',
        // Nothing confines the bundler: what it reads outside of the tree, it would hand to a tool that may not.
        async load(id) {
          if (id === RUNTIME_MODULE) return null;
          const file = await realpath(id);
          if (!file.startsWith(`${root}${sep}`)) throw new Error(`${file} is not in the tree`);
          return null;
        },
      },
      {
        name: 'place-dependent',
        transform(code, id) {
          if (id === input || id === RUNTIME_MODULE) return null;
          if (PLACE_DEPENDENT.test(code) && PLACE_DEPENDENT.test(withoutComments(code))) {
            throw new Error(`${id} depends on its place`);
          }
          return null;
        },
      },
    ],
  });
  try {
    const { output } = await build.generate({ format: 'esm', codeSplitting: false, keepNames: true, minify: false });
    const [chunk] = output;
    if (!clean || output.length !== 1 || chunk.code.length > BUNDLE_MAX_BYTES) return undefined;
    return chunk.code;
  } finally {
    await build.close();
  }
}
