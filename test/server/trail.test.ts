import { expect, it } from 'vitest';
import { AuditTrail } from '../../src/server/audit/trail.js';

it('measures how long an execution took with a clock that nobody sets', () => {
  let now = 1_000_000;
  const trail = new AuditTrail({ limits: { auditRecords: 10, auditCapabilities: 10 }, now: () => now });
  const asked = { kind: 'guest', via: 'POST /run', label: 'program', isolation: 'process', limits: {} } as const;
  const execution = trail.open(asked, undefined);
  execution.started();
  now -= 3_600;
  execution.ended({ status: 'succeeded', code: 'ok' });
  expect(execution.record().durationMs).toBeGreaterThanOrEqual(0);
  expect(execution.record().durationMs).toBeLessThan(3_600);
});
