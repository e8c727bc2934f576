import { expect } from 'vitest';
import { VIOLATIONS } from '../../wasm/violations.js';
import type { Attack } from './attack.js';
import type { Answer } from './fortress.js';

/** A guest that turns on its host: each way of breaking the rules ends it, with the rule that it broke. */
const byGuests: readonly Attack[] = VIOLATIONS.map(([how, code]) => ({
  id: idOf(how, code),
  what: `a guest that sends ${how}`,
  attack: (fortress) => fortress.post('/wasm/misbehave/misbehave?timeoutMs=5000', JSON.stringify(how)),
  expected: { ok: false, error: { code } },
}));

function idOf(how: string, code: string): string {
  if (code === 'WASM_FRAME_VERSION') return 'M01';
  if (how.startsWith('length')) return 'M02';
  if (how === 'trailing' || how === 'two-values') return 'M03';
  if (how.endsWith('huge')) return how === 'array-huge' ? 'M04' : 'M05';
  if (how === 'depth') return 'M06';
  if (['extension', 'timestamp', 'record'].includes(how)) return 'M08';
  if (how.startsWith('key') || how === 'duplicate-key') return 'M09';
  if (how === 'nan' || how.startsWith('infinity')) return 'M11';
  if (how.startsWith('type') || how === 'not-a-map' || how === 'empty-map') return 'M12';
  if (how.startsWith('name') || how === 'not-granted') return 'M16';
  return how === 'text' ? 'M17' : 'M13';
}

const misbehaves = (id: string, how: string, expected: Attack['expected'], timeoutMs = 5_000): Attack => ({
  id,
  what: `a guest that does ${how}`,
  attack: (fortress) => fortress.post(`/wasm/misbehave/misbehave?timeoutMs=${timeoutMs}`, JSON.stringify(how)),
  expected,
});

/** A caller that turns on a guest of its own: nobody else hears of it. */
const byCallers: readonly Attack[] = [
  ['M01', 'version 2', '0200000001c0'],
  ['M02', 'length 0xffffffff', '01ffffffff'],
  ['M05', 'a map of four billion entries', '0100000005dfffffffff'],
  ['M06', 'nothing but nesting', `01000003e8${'91'.repeat(1000)}`],
  ['M17', 'text', Buffer.from('GET / HTTP/1.1\r\n\r\n').toString('hex')],
].map(([id = '', what = '', hex = '']) => ({
  id,
  what: `a caller that sends ${what} to its own guest`,
  attack: (fortress) => fortress.talk('/wasm/guest', [Buffer.from(hex, 'hex')], 1, 1_500),
  expected: (heard) => heard.length <= 1,
}));

export const WASM_ATTACKS: readonly Attack[] = [
  ...byGuests,
  ...byCallers,
  misbehaves('M13', 'second-response', {}),
  misbehaves('M17', 'stderr-flood', { ok: false, error: { code: 'WASM_EXITED' } }),
  misbehaves('M19', 'exit-in-frame', { ok: false, error: { code: 'WASM_EXITED' } }),
  // In a room the supervisor holds the output open as well: it is the time limit that ends it.
  misbehaves('M19', 'close-output', (answer: Answer) =>
    expect(['WASM_EXITED', 'WASM_TIMEOUT']).toContain(answer.error.code),
  ),
  misbehaves('M19', 'trap', { ok: false, error: { code: 'WASM_TRAPPED' } }),
  misbehaves('M20', 'loop', { ok: false, error: { code: 'WASM_TIMEOUT' } }, 300),
  misbehaves('M20', 'recursion', { ok: false, error: { code: 'WASM_TRAPPED' } }),
  misbehaves('M25', 'escape-error', { ok: false, error: { message: expectPlain() } }),
  {
    id: 'M16',
    what: 'a function whose name is that of a prototype',
    attack: (fortress) => fortress.post('/wasm/guest/__proto__', '[]'),
    expected: { ok: false },
  },
  {
    id: 'M16',
    what: 'a module whose name leads elsewhere',
    attack: (fortress) => fortress.post('/wasm/..%2f..%2fetc%2fpasswd/add', '[]'),
    expected: { status: 404 },
  },
];

/** Matches text without control characters. */
function expectPlain(): { asymmetricMatch(text: string): boolean; toString(): string } {
  return {
    asymmetricMatch: (text) => !/[\u0000-\u001f\u007f]/.test(text),
    toString: () => 'text without control characters',
  };
}
