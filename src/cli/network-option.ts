import type { NetworkPolicy } from '../sandbox/index.js';
import { CliError } from './exit.js';

const WORDS = new Set(['none', 'loopback', 'full', 'host']);

/** Reads what was given with --net: words that stand for a whole network, and hosts with ports. */
export function networkOf(entries: readonly string[]): NetworkPolicy {
  const [word, ...others] = entries.filter((entry) => WORDS.has(entry));
  const hosts = entries.filter((entry) => !WORDS.has(entry));
  if (others.length > 0) throw new CliError(`--net ${word} and --net ${others[0]} contradict each other`);
  if (word === 'full') return { kind: 'full', hosts };
  if (word !== undefined && hosts.length > 0)
    throw new CliError(`--net ${word} and --net ${hosts[0]} contradict each other`);
  if (word === 'loopback' || word === 'host') return { kind: word };
  return hosts.length === 0 ? { kind: 'none' } : { kind: 'allow', hosts };
}
