import type { ProxyDecision } from '../../sandbox/index.js';
import type { Capability } from './record.js';

/** A decision of the proxy, as the audit trail has it. */
export function networkUse({ verdict, host, port, address, reason }: ProxyDecision): Omit<Capability, 'at'> {
  return {
    type: 'network',
    name: `${host} ${address ?? ''}:${port}`,
    outcome: verdict === 'allowed' ? 'allowed' : 'denied',
    reason,
  };
}
