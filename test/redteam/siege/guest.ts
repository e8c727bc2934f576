import { expect } from 'vitest';
import { ESCAPES, FLOODS, type GuestAttack, OWN } from '../guest-attacks.js';
import type { Attack } from './attack.js';

/** Over HTTP a program that is not even a request is refused before it is one. */
const codeOf = (answer: { status: number; ok?: boolean; error?: { code: string } }): string => {
  if (answer.status !== 200) return 'validation_error';
  return answer.ok === true ? 'ok' : (answer.error?.code ?? 'nothing');
};

function overHttp({ id, what, code, expected, options = {} }: GuestAttack): Attack {
  const { timeoutMs = 4_000, memoryLimitBytes, maxLogLines, maxLogChars } = options;
  const limits = { timeoutMs, memoryLimitBytes, maxLogLines, maxLogChars };
  return {
    id,
    what,
    attack: (fortress) => fortress.post('/run', { code, ...limits }),
    expected: (answer) => {
      if ('codes' in expected) expect(expected.codes).toContain(codeOf(answer));
      else expect(answer).toMatchObject({ ok: true, result: expected.result });
      expect(JSON.stringify(answer)).not.toMatch(/node_modules|\/dist\/|\/src\//);
    },
  };
}

/** Every program of the list that needs no tools of its own. */
export const GUEST_ATTACKS: readonly Attack[] = [...ESCAPES, ...FLOODS, ...OWN]
  .filter(({ tools }) => tools === undefined)
  .map(overHttp);
