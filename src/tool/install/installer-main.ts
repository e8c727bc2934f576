// The installer: a process of its own that the server starts and talks to over its IPC channel.
import { setPriority } from 'node:os';
import { buildTree } from './build-tree.js';
import { jobErrorOf } from './install-problem.js';
import type { FromInstaller, Job, ToInstaller } from './jobs.js';
import { loadNpmOptions, type NpmOptions } from './npm-config.js';
import { PackumentCache } from './packument-cache.js';
import { resolvePackage } from './resolve-package.js';

/** Behind the server, so that answers come on time while trees are built on all cores. */
const NICENESS = 5;

const packuments = new PackumentCache();
let options: Promise<NpmOptions> | undefined;

const tell = (message: FromInstaller): void => {
  if (process.connected) process.send?.(message);
};

async function perform(id: number, job: Job, npmOptions: NpmOptions): Promise<unknown> {
  switch (job.op) {
    case 'resolve':
      return await resolvePackage(job, npmOptions, packuments);
    case 'install':
      return await buildTree(job, npmOptions, packuments, (packages) => tell({ type: 'progress', id, packages }));
    case 'bundle': {
      // The bundler is native and takes a while to load: only when it is needed.
      const { bundleTree } = await import('./bundle-tree.js');
      return await bundleTree(job);
    }
  }
}

process.on('message', (message: ToInstaller) => {
  if (message.type === 'settings') {
    options = loadNpmOptions(message.settings);
    options.catch(() => {});
    return;
  }
  const { id, job } = message;
  const ready = options ?? Promise.reject(new Error('the installer has no settings yet'));
  ready
    .then((npmOptions) => perform(id, job, npmOptions))
    .then(
      (value) => tell({ type: 'done', id, value }),
      (error: unknown) => tell({ type: 'failed', id, error: jobErrorOf(error) }),
    );
});

// The server is gone: what is half-built stays in a temporary folder and is swept by the next one.
process.on('disconnect', () => process.exit(0));

try {
  setPriority(NICENESS);
} catch {
  // Not allowed here; then it competes on equal terms.
}
