import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createToolExecutor } from '../../dist/tool/index.js';
import { errorOf, outputOf } from './helpers.js';

const cacheDir = mkdtempSync(join(tmpdir(), 'sallyport-real-'));
const executor = createToolExecutor({ cacheDir });
afterAll(async () => {
  await executor.dispose();
  rmSync(cacheDir, { recursive: true, force: true });
});

it('runs tools of the public registry, plain and bundled alike', async () => {
  const render = {
    packageName: '@tpmjs/tools-template-render',
    name: 'templateRenderTool',
    params: { template: 'Hi {{name}}', data: { name: 'Bo' } },
  };
  expect(outputOf(await executor.execute(render))).toMatchObject({ rendered: 'Hi Bo' });
  await executor.settled();
  const again = await executor.execute(render);
  expect(outputOf(again)).toMatchObject({ rendered: 'Hi Bo' });
  expect(again.cache).toBe('hit');
  expect(executor.stats().cache.bundles).toBe(1);
  const described = await executor.validate({ ...render, params: { template: 1 }, deep: true });
  expect(described).toMatchObject({ valid: false, foundBy: 'export', inputSchema: { type: 'object' } });
}, 180_000);

it('runs functions, factories, and factories that want a key', async () => {
  expect(
    outputOf(await executor.execute({ packageName: '@agentic/core', name: 'echoAIFunction', params: { query: 'x' } })),
  ).toBe('x');
  expect(
    outputOf(await executor.execute({ packageName: 'bashkit', name: 'createExitPlanModeTool', params: { plan: 'x' } })),
  ).toMatchObject({ message: expect.any(String) });
  const search = errorOf(
    await executor.execute({ packageName: '@exalabs/ai-sdk', name: 'webSearch', params: { query: 'x' } }),
  );
  expect(search.message).toContain('EXA_API_KEY');
});
