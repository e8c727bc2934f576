import { describe, expect, it } from 'vitest';
import { openWasm } from '../../../dist/wasm/index.js';
import { here, testRefusalWithoutRooms } from '../../sandbox/container/rooms.js';
import { familyOf, gone, namespacesOf } from '../../sandbox/helpers.js';
import { C_GUEST, failure, MISBEHAVE } from '../guests.js';

testRefusalWithoutRooms();

describe.runIf(here.available)('a guest at the level container', () => {
  it('answers calls from namespaces of its own, and nothing of it is left', async () => {
    const client = await openWasm(C_GUEST, { level: 'container' });
    expect(await client.call['add']?.([1, 2])).toBe(3);
    const family = client.pids.flatMap(familyOf);
    const innermost = family.at(-1) ?? 0;
    const outside = namespacesOf('self');
    expect(namespacesOf(innermost).filter((name) => outside.includes(name))).toEqual([]);
    await client.dispose();
    expect(await gone(family)).toBe(true);
  });

  it('shares every namespace with its host at the level process', async () => {
    await using client = await openWasm(C_GUEST, { level: 'process' });
    expect(await client.call['add']?.([1, 2])).toBe(3);
    expect(client.pids.flatMap(familyOf).map(namespacesOf)).toEqual([namespacesOf('self')]);
  });

  it('fails with the same causes as without it, and the next call works', async () => {
    await using client = await openWasm(MISBEHAVE, { level: 'container', timeoutMs: 2_000 });
    const fails = (name: string) => failure(client.call['misbehave']?.(name) ?? Promise.resolve());
    expect(await fails('exit')).toMatchObject({ code: 'WASM_EXITED', facts: { exitCode: 3 } });
    expect(await fails('trap')).toMatchObject({ code: 'WASM_TRAPPED' });
    expect(await fails('version')).toMatchObject({ code: 'WASM_FRAME_VERSION' });
    expect(await fails('loop')).toMatchObject({ code: 'WASM_TIMEOUT' });
    expect(await fails('exit')).toMatchObject({ facts: { exitCode: 3 } });
  });
});
