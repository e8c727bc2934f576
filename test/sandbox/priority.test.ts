import { readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, test } from 'vitest';
import { containerLevel } from '../../src/sandbox/container/container-level.js';
import { GUEST_POLICY } from '../../src/sandbox/container/policies.js';
import { createSpawner, processLevel } from '../../src/sandbox/index.js';
import { readProcessTable } from '../../src/sandbox/process-table.js';
import { here } from './container/rooms.js';
import { shell, shows } from './helpers.js';

/** The weight of a process's session, where the kernel has such a thing. */
function sessionPriority(pid: number): number | undefined {
  try {
    return Number(/nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, 'utf8'))?.[1]);
  } catch {
    return undefined;
  }
}

const levels = new Map([
  ['process', processLevel],
  ['container', containerLevel({ policy: GUEST_POLICY })],
]);

test('a child stands back when it is told to, and only then', async () => {
  await using spawner = createSpawner({ levels });
  const low = await spawner.spawn(shell('echo ready; sleep 60', { priority: 'low' }));
  const normal = await spawner.spawn(shell('echo ready; sleep 60'));
  for (const child of [low, normal]) await shows(child.outputs[0], 'ready');
  expect(getPriority(low.pid)).toBe(5);
  expect(getPriority(normal.pid)).toBe(getPriority(process.pid));
  expect([5, undefined, Number.NaN]).toContain(sessionPriority(low.pid));
});

test.runIf(here.available)('so does all of a room', async () => {
  await using spawner = createSpawner({ levels });
  const child = await spawner.spawn(shell('echo ready; sleep 60', { level: 'container', priority: 'low' }));
  await shows(child.outputs[0], 'ready');
  const first = () => readProcessTable().find(({ ppid }) => ppid === child.pid)?.pid ?? 0;
  await expect.poll(() => getPriority(first())).toBe(5);
});
