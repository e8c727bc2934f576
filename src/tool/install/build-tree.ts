import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import Arborist, { type ArboristNode, type ArboristTree } from '@npmcli/arborist';
import { extractPackage, type TreeBudget } from './extract.js';
import { InstallError } from './install-problem.js';
import type { InstalledTree, InstallJob, PendingScript } from './jobs.js';
import type { NpmOptions } from './npm-config.js';
import { isAllowed, isDenied } from './package-list.js';
import type { PackumentCache } from './packument-cache.js';
import { sealFolders } from './seal.js';

/** Packages that are fetched and unpacked at the same time. */
const EXTRACT_AT_ONCE = 6;
const SCRIPT_EVENTS = ['preinstall', 'install', 'postinstall'] as const;

/** Works out the tree. Conflicting peers get one more try with relaxed rules, as people do by hand. */
async function idealTree(job: InstallJob, options: NpmOptions): Promise<ArboristTree> {
  const build = (peers: 'strict' | 'relaxed'): Promise<ArboristTree> =>
    new Arborist({
      ...options,
      path: job.folder,
      ...(job.before === undefined ? {} : { before: new Date(job.before) }),
      legacyPeerDeps: peers === 'relaxed',
      ignoreScripts: true,
      audit: false,
      save: false,
      packageLock: false,
      omit: ['dev'],
      // A dependency comes from the registry or not at all: no repositories, no addresses, no paths.
      allowGit: 'none',
      allowRemote: 'none',
      allowFile: 'none',
      allowDirectory: 'none',
    }).buildIdealTree();
  try {
    return await build('strict');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERESOLVE')) throw error;
    return await build('relaxed');
  }
}

function checkNode(node: ArboristNode, job: InstallJob): void {
  const name = node.packageName ?? node.name;
  if (node.isLink) throw new InstallError('source', `${name} is a link, not a package of the registry`);
  const inside = relative(join(job.folder, 'node_modules'), node.path);
  if (inside === '' || inside.startsWith('..') || inside.startsWith(sep)) {
    throw new InstallError('source', `${name} would be installed outside of its tree`);
  }
  if (isDenied(job.deny, name, node.version)) {
    throw new InstallError('denied', `${name}@${node.version} is on the deny-list of this executor`);
  }
}

async function scriptsOf(node: ArboristNode): Promise<PendingScript[]> {
  const manifest: unknown = JSON.parse(await readFile(join(node.path, 'package.json'), 'utf8'));
  const scripts =
    typeof manifest === 'object' && manifest !== null && 'scripts' in manifest ? manifest.scripts : undefined;
  if (typeof scripts !== 'object' || scripts === null) return [];
  const listed = new Map(Object.entries(scripts));
  return SCRIPT_EVENTS.flatMap((event) => {
    const command: unknown = listed.get(event);
    const packageName = node.packageName ?? node.name;
    return typeof command === 'string' ? [{ packageName, event, command, folder: node.path }] : [];
  });
}

/** The module that brings a package into a child. A namespace inside a namespace: one that has a `then` is not awaited. */
export function loaderSource(name: string): string {
  return `import * as pkg from ${JSON.stringify(name)};\nexport { pkg };\n`;
}

/** Takes away what an installer that died left in a draft. */
async function clear(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length === 0) return;
  // Takes a while to load: only when it is needed.
  const { removeTree } = await import('../../sandbox/index.js');
  await removeTree(folder);
}

/** Builds a package's whole tree in a folder that nobody else uses. */
export async function buildTree(
  job: InstallJob,
  npmOptions: NpmOptions,
  packuments: PackumentCache,
  progress: (packages: number) => void,
): Promise<InstalledTree> {
  const options = { ...npmOptions, packumentCache: packuments };
  await clear(job.folder);
  await mkdir(join(job.folder, 'node_modules'), { recursive: true });
  await writeFile(
    join(job.folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: { [job.name]: job.version } }),
  );
  const tree = await idealTree(job, options);
  const nodes = [...tree.inventory.values()].filter((node) => !node.isRoot && !node.isProjectRoot && !node.inert);
  if (nodes.length > job.maxPackages) {
    throw new InstallError('limits', `the tree has ${nodes.length} packages, more than ${job.maxPackages}`);
  }
  for (const node of nodes) checkNode(node, job);
  progress(nodes.length);
  const budget: TreeBudget = { files: job.maxFiles, bytes: job.maxBytes };
  // What is bundled inside another package comes with that one. Parents come first: unpacking never meets a child.
  const waiting = nodes.filter((node) => !node.inBundle).sort((a, b) => a.path.length - b.path.length);
  const scripted: ArboristNode[] = [];
  const work = async (): Promise<void> => {
    for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
      const name = node.packageName ?? node.name;
      const pinned = name === job.name && node.version === job.version ? job.integrity : undefined;
      const integrity = pinned ?? node.integrity ?? undefined;
      try {
        if (node.resolved === null) throw new InstallError('source', `${name} has no tarball in the registry`);
        await extractPackage(
          {
            name,
            version: node.version,
            resolved: node.resolved,
            integrity,
            folder: node.path,
            files: isAllowed(job.allowScripts, name, node.version) ? 'writable' : 'read-only',
          },
          options,
          budget,
        );
        if (node.hasInstallScript) scripted.push(node);
      } catch (error) {
        if (!node.optional || error instanceof InstallError) throw error;
      }
    }
  };
  const workers = Array.from({ length: EXTRACT_AT_ONCE }, () =>
    work().catch((error: unknown) => {
      waiting.length = 0;
      throw error;
    }),
  );
  // All of them come to rest, so that nobody writes into a folder that is given up.
  await Promise.allSettled(workers);
  await Promise.all(workers);
  const allowed = scripted.filter((node) => isAllowed(job.allowScripts, node.packageName ?? node.name, node.version));
  const pendingScripts = (await Promise.all(allowed.map(scriptsOf))).flat();
  await writeFile(join(job.folder, 'load.mjs'), loaderSource(job.name));
  if (pendingScripts.length === 0) await sealFolders(join(job.folder, 'node_modules'));
  return {
    packages: nodes.length,
    bytes: job.maxBytes - budget.bytes,
    pendingScripts,
  };
}
