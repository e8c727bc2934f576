import { closeSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type ContainerLevel, containerLevel } from '../../../src/sandbox/container/container-level.js';
import { namelessFile } from '../../../src/sandbox/container/handles.js';
import { GUEST_POLICY } from '../../../src/sandbox/container/policies.js';
import { createSpawner, type IsolationLevel, processLevel, type SpawnRequest } from '../../../src/sandbox/index.js';
import { result, shell } from '../helpers.js';

/** Whether rooms can be made here. */
export const here = await containerLevel({ policy: GUEST_POLICY }).probe();

/** Where no rooms can be made, what remains to be shown is that nothing runs weaker instead. */
export function testRefusalWithoutRooms(): void {
  if (here.available) return;
  test('refuses to run at all where no room can be made, and says why', async () => {
    await using spawner = createSpawner({
      levels: new Map([['container', containerLevel({ policy: GUEST_POLICY })]]),
    });
    await expect(spawner.spawn(shell('true', { level: 'container' }))).rejects.toMatchObject({
      code: 'SPAWN_LEVEL_UNAVAILABLE',
      message: expect.stringContaining(here.available ? '' : here.reason),
    });
  });
}

/** Runs a script to its end, in a room or beside it. */
export async function run(level: IsolationLevel, script: string, more: Partial<SpawnRequest> = {}) {
  await using spawner = createSpawner({ levels: new Map([[level.name, level]]) });
  const child = await spawner.spawn(shell(script, { level: level.name, ...more }));
  const ended = await result(child);
  await child.closed;
  return ended;
}

/** The same level with the arguments of bubblewrap changed: for controls that show what a single one of them is for. */
export function altered(level: ContainerLevel, change: (args: string[]) => string[]): IsolationLevel {
  return {
    name: level.name,
    probe: () => level.probe(),
    async wrap(command) {
      const invocation = await level.wrap(command);
      const list = invocation.handles?.at(-1);
      if (list === undefined) throw new Error('there is no list of arguments');
      const args = readFileSync(`/proc/self/fd/${list}`, 'utf8').split('\0').slice(0, -1);
      closeSync(list);
      const changed = namelessFile(
        Buffer.from(
          change(args)
            .map((argument) => `${argument}\0`)
            .join(''),
        ),
      );
      return { ...invocation, handles: [...(invocation.handles ?? []).slice(0, -1), changed] };
    },
  };
}

/** Leaves an option and its values out. */
export function without(option: string, values: number): (args: string[]) => string[] {
  return (args) => {
    const at = args.indexOf(option);
    expect(at).toBeGreaterThanOrEqual(0);
    return args.toSpliced(at, values + 1);
  };
}

export { processLevel };
