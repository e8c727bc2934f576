import { describe, expect, it } from 'vitest';
import { KeyRing } from '../../src/server/access/keys.js';
import { Quotas } from '../../src/server/access/quotas.js';
import { AuditTrail } from '../../src/server/audit/trail.js';
import { DEFAULT_SERVER_LIMITS } from '../../src/server/limits.js';
import { observeExec, SessionCallers } from '../../src/server/sockets/exec.js';
import { hashKey } from './start.js';

const key = { name: 'ci', hash: hashKey('the-key-of-the-build-server'), policy: { programs: ['ls'] } };
const asked = { processId: '1', argv: ['sh'], tty: false, timeoutMs: undefined, terminate: () => {} };
const levels = { guest: 'process', wasm: 'process', tool: 'process', process: 'process' } as const;

function made() {
  const callers = new SessionCallers();
  const trail = new AuditTrail({ limits: DEFAULT_SERVER_LIMITS });
  const quotas = new Quotas(new KeyRing([key]), trail);
  const isolation = { asked: 'process', levels, enforced: levels, limits: undefined, shortfall: undefined } as const;
  return { callers, observer: observeExec(callers, { trail, quotas, isolation }) };
}

describe('a session of the process boundary', () => {
  it('keeps to the rules of its key, however many sessions were opened after it', () => {
    const { callers, observer } = made();
    const first = { id: 'first', principal: 'ci' };
    callers.set(first, { key, address: '127.0.0.1' });
    for (let count = 0; count < 10_000; count += 1) {
      callers.set({ id: `later ${count}`, principal: 'ci' }, { key, address: '127.0.0.1' });
    }
    expect(observer.process(first, asked)).toEqual({ refuse: 'the key "ci" may not use "sh"' });
  });

  it('whose caller is not known may do nothing', () => {
    const { observer } = made();
    const session = { id: 'of nobody', principal: '' };
    expect(observer.process(session, asked)).toHaveProperty('refuse');
    expect(observer.request(session, { requestId: '1', method: 'GET', url: 'http://localhost/' })).toHaveProperty(
      'refuse',
    );
  });
});
