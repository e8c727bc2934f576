import type { Check } from '../check.js';
import { expectValue } from '../target/duplex-peer.js';
import type { GuestSession } from './session.js';

const group = 'Values';

type Samples = readonly unknown[];

/** Calls `echo` with each sample and expects it back. */
async function echoes(session: GuestSession, samples: Samples): Promise<void> {
  for (const sample of samples) {
    expectValue(await session.result(session.call('echo', sample)), sample, 'the value that came back');
  }
}

function value(name: string, title: string, samples: () => Samples): Check<GuestSession> {
  return {
    id: `wasm.values.${name}`,
    title,
    level: 'MUST',
    group,
    cites: ['duplex-rpc.examples.any-json', 'duplex-rpc.wire.messagepack'],
    run: (session) => echoes(session, samples()),
  };
}

function beyondJson(name: string, title: string, reason: string, samples: () => Samples): Check<GuestSession> {
  return {
    id: `wasm.values.${name}`,
    title,
    level: 'RECOMMENDED',
    reason,
    group,
    cites: [],
    run: (session) => echoes(session, samples()),
  };
}

const around = (...powers: readonly number[]): number[] =>
  powers.flatMap((power) => [2 ** power - 1, 2 ** power, -(2 ** power), -(2 ** power) - 1]);

/** A value of every kind goes to the guest and back. */
export const VALUE_CHECKS: readonly Check<GuestSession>[] = [
  value('null', 'null stays null', () => [null, [null], { a: null }]),
  value('booleans', 'true and false stay what they are', () => [true, false, [true, false]]),
  value('integers', 'Integers of up to 32 bits keep their value', () => [
    0,
    1,
    -1,
    -32,
    -33,
    ...around(7, 8, 15, 16, 31),
  ]),
  value('large-integers', 'Integers of up to 53 bits keep their value', () => [
    2 ** 32,
    -(2 ** 32),
    2 ** 40 + 1,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
  ]),
  value('fractions', 'Fractions keep every bit', () => [0.1, -1.5, 1 / 3, Math.PI, 1e300, 5e-324]),
  value('strings', 'Text keeps its length, empty or on either side of the forms that MessagePack has', () =>
    [0, 1, 31, 32, 255, 256, 65_535, 65_536].map((size) => 'a'.repeat(size)),
  ),
  value('unicode', 'Text keeps its characters', () => ['é', '日本語', '😀', 'a\u0000b', '\n\t"\\', '\u2028']),
  value('arrays', 'Arrays keep their items, none or many', () =>
    [0, 1, 15, 16, 1_000].map((size) => Array.from({ length: size }, (_, index) => index)),
  ),
  value('objects', 'Objects keep their fields, none or many', () =>
    [0, 1, 15, 16, 300].map((size) =>
      Object.fromEntries(Array.from({ length: size }, (_, index) => [`key ${index}`, index])),
    ),
  ),
  value('nested', 'Arrays and objects inside each other keep their shape', () => {
    let nested: unknown = 'inside';
    for (let depth = 0; depth < 15; depth += 1) nested = { list: [nested] };
    return [nested];
  }),
  value('names', 'Fields may have any name', () => [
    JSON.parse('{"__proto__":1,"constructor":2,"":3,"id":4,"type":9}'),
  ]),
  beyondJson(
    'binary',
    'Binary comes back as binary',
    'MessagePack has it and the published client sends it: who cannot carry it corrupts files',
    () => [Uint8Array.of(), Uint8Array.of(0, 1, 255), new Uint8Array(70_000).fill(7)],
  ),
  beyondJson(
    'wide-integers',
    'Integers of 64 bits keep their value',
    'MessagePack has them and the published client sends them: who rounds them corrupts ids',
    () => [2n ** 63n, 2n ** 64n - 1n, -(2n ** 63n)],
  ),
];
