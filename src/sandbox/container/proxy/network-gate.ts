import { hostPatterns, type NetworkPolicy } from '../policy.js';
import { Gate, type Passage } from './gate.js';

/** Decides where a connection may go, and which address is dialled for it. */
export type NetworkGate = (host: string, port: number) => Promise<Passage>;

/**
 * Makes the gate of a network policy, for connections that Sallyport opens itself on behalf of what is confined.
 * Nothing for the network of the machine, which has none.
 */
export function networkGate(network: NetworkPolicy): NetworkGate | undefined {
  if (network.kind === 'host') return undefined;
  if (network.kind === 'none' || network.kind === 'loopback') {
    // A private loopback has nobody on it that could be meant from outside.
    const passage = { ok: false, reason: `the network of what is confined here is ${network.kind}` } as const;
    return async () => passage;
  }
  const gate = new Gate(hostPatterns(network), network.kind === 'full' ? 'allowed' : 'refused');
  return (host, port) => gate.judge(host, port);
}
