import { afterAll } from 'vitest';
import type { NetworkPolicy } from '../../dist/sandbox/index.js';
import { createToolExecutor, type ToolExecutor } from '../../dist/tool/index.js';
import { scratchFolder } from './helpers.js';
import { TestRegistry } from './registry.js';

/** Two executors with a cache each and one registry: what confines, and the control without it. */
export interface Pair {
  readonly registry: TestRegistry;
  readonly confined: ToolExecutor;
  readonly plain: ToolExecutor;
  readonly caches: { readonly confined: string; readonly plain: string };
}

/** Makes a pair that is ended after the tests of a file. */
export async function confinedAndPlain(
  options: { readonly network?: NetworkPolicy; readonly allowScripts?: readonly string[] } = {},
): Promise<Pair> {
  const registry = await TestRegistry.start();
  const caches = { confined: scratchFolder(), plain: scratchFolder() };
  const { network, allowScripts = [] } = options;
  const common = { registry: registry.url, limits: { warmChildren: 1 } };
  const confined = createToolExecutor({
    ...common,
    cacheDir: caches.confined,
    level: 'container',
    policy: { allowScripts, ...(network === undefined ? {} : { network }) },
  });
  const plain = createToolExecutor({ ...common, cacheDir: caches.plain, level: 'process', policy: { allowScripts } });
  afterAll(async () => {
    await confined.dispose();
    await plain.dispose();
    await registry.close();
  });
  return { registry, confined, plain, caches };
}
