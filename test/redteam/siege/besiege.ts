import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Attack } from './attack.js';
import { Fortress, type Inventory, type Level } from './fortress.js';
import { GUEST_ATTACKS } from './guest.js';
import { HTTP_ATTACKS } from './http.js';
import { OWN_ATTACKS } from './own.js';
import { PROCESS_ATTACKS } from './process.js';
import { TOOL_ATTACKS } from './tool.js';
import { WASM_ATTACKS } from './wasm.js';

const ATTACKS = [
  ...GUEST_ATTACKS,
  ...WASM_ATTACKS,
  ...TOOL_ATTACKS,
  ...HTTP_ATTACKS,
  ...PROCESS_ATTACKS,
  ...OWN_ATTACKS,
];

/** How long an attack may take unless it says otherwise; the machine may be busy. */
const WITHIN_MS = 60_000;
/** How long the server may take to be as it was before. */
const RECOVERY_MS = 60_000;
/** What may be there more than before: pools that are being filled, connections that are being closed. */
const SPARE = { processes: 12, handles: 40, megabytes: 250 } as const;

async function answered(attack: Attack, fortress: Fortress): Promise<void> {
  const from = performance.now();
  const answer = await attack.attack(fortress);
  expect(performance.now() - from).toBeLessThan(attack.withinMs ?? WITHIN_MS);
  const { expected } = attack;
  if (typeof expected === 'function') await expected(answer, fortress);
  else if (expected instanceof RegExp) expect(String(answer)).toMatch(expected);
  else expect(answer).toMatchObject(expected);
}

async function recovered(fortress: Fortress, before: Inventory): Promise<void> {
  await fortress.serves();
  await expect
    .poll(
      () => {
        const { processes, handles, files, mounts, megabytes } = fortress.inventory();
        return [
          ...(processes > before.processes + SPARE.processes ? [`${processes} processes`] : []),
          ...(handles > before.handles + SPARE.handles ? [`${handles} handles`] : []),
          ...(mounts > before.mounts ? [`${mounts} mounts`] : []),
          ...(megabytes > before.megabytes + SPARE.megabytes ? [`${megabytes} MB`] : []),
          ...files.filter((file) => !before.files.includes(file)),
        ];
      },
      { timeout: RECOVERY_MS, interval: 100 },
    )
    .toEqual([]);
}

/** Tests that a server at this level withstands every attack that it claims to stop. */
export function besiege(level: Level): void {
  describe(`a server at the level ${level} withstands`, () => {
    let fortress: Fortress;
    let before: Inventory;

    beforeAll(async () => {
      fortress = await Fortress.build(level);
      await fortress.serves();
      await fortress.serves();
      before = fortress.inventory();
    });

    afterAll(() => fortress[Symbol.asyncDispose]());

    const claimed = ATTACKS.filter(({ levels = [level] }) => levels.includes(level));
    it.each(claimed.map((attack) => [attack.id, attack.what, attack] as const))(
      '%s %s',
      async (_id, _what, attack) => {
        await answered(attack, fortress);
        await recovered(fortress, before);
      },
      180_000,
    );
  });
}
