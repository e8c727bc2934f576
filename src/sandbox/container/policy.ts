import { SallyportError } from '../../errors/index.js';
import { type HostPattern, parseHostPattern, within } from './host-pattern.js';
import { POLICY_HOSTS_MAX, POLICY_PATHS_MAX } from './limits.js';
import { beneath, pathProblem } from './paths.js';

/** Files of the machine that are visible inside, besides the system's programs and libraries. All paths are absolute. */
export interface FilesystemPolicy {
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** What stays invisible although something around it is granted. */
  readonly hide: readonly string[];
}

/**
 * What network there is inside, from nothing to everything:
 * - `none`: not even a socket can be opened, but to neighbours by a path
 * - `loopback`: a loopback interface of its own, on which nobody else is
 * - `allow`: that, and the hosts on the list, through the proxy
 * - `full`: that, and every public host through the proxy; other addresses only if they are on the list
 * - `host`: the network of the machine itself, its loopback and its neighbours included
 */
export type NetworkPolicy =
  | { readonly kind: 'none' }
  | { readonly kind: 'loopback' }
  | { readonly kind: 'allow'; readonly hosts: readonly string[] }
  | { readonly kind: 'full'; readonly hosts?: readonly string[] }
  | { readonly kind: 'host' };

/** What one execution may use. Everything that is not named is unlimited, but for the private folders. */
export interface ResourceLimits {
  readonly memoryBytes?: number;
  readonly processes?: number;
  readonly cpuSeconds?: number;
  readonly fileSizeBytes?: number;
  readonly openFiles?: number;
  readonly tmpBytes?: number;
}

/** What a confined execution may reach and use. */
export interface Policy {
  readonly filesystem: FilesystemPolicy;
  readonly network: NetworkPolicy;
  readonly limits: ResourceLimits;
}

/** What one call asks of a policy. What it does not name stays as the policy has it. */
export interface PolicyRequest {
  readonly filesystem?: Partial<FilesystemPolicy>;
  readonly network?: NetworkPolicy;
  readonly limits?: ResourceLimits;
}

const LIMITS = [
  'memoryBytes',
  'processes',
  'cpuSeconds',
  'fileSizeBytes',
  'openFiles',
  'tmpBytes',
] as const satisfies readonly (keyof ResourceLimits)[];

const NETWORKS = ['none', 'loopback', 'allow', 'full', 'host'] as const;

/** Says that a policy cannot be meant as written. */
export function policyInvalid(field: string, problem: string): SallyportError {
  return new SallyportError('POLICY_INVALID', `${field} ${problem}`, { field });
}

function widened(field: string, problem: string): SallyportError {
  return new SallyportError('POLICY_WIDENED', `${field} ${problem}`, { field });
}

/** The hosts that a network policy lists, read. Throws POLICY_INVALID. */
export function hostPatterns(network: NetworkPolicy): HostPattern[] {
  const hosts = 'hosts' in network ? (network.hosts ?? []) : [];
  if (hosts.length > POLICY_HOSTS_MAX)
    throw policyInvalid('network.hosts', `has more than ${POLICY_HOSTS_MAX} entries`);
  return hosts.map((text, index) => {
    const parsed = parseHostPattern(text);
    if (parsed.ok) return parsed.pattern;
    throw policyInvalid(`network.hosts[${index}]`, `${parsed.reason}; it is ${JSON.stringify(text)}`);
  });
}

function checkPaths(field: string, paths: readonly string[]): void {
  if (paths.length > POLICY_PATHS_MAX) throw policyInvalid(field, `has more than ${POLICY_PATHS_MAX} paths`);
  paths.forEach((path, index) => {
    const problem = pathProblem(path);
    if (problem !== undefined) throw policyInvalid(`${field}[${index}]`, `${problem}; it is ${JSON.stringify(path)}`);
  });
}

function checkContradictions({ read, write, hide }: FilesystemPolicy): void {
  for (const path of read) {
    if (write.includes(path)) throw policyInvalid('filesystem', `grants ${path} both as read and as write`);
  }
  for (const hidden of hide) {
    const inside = [...read, ...write].find((path) => beneath(path, hidden));
    if (inside !== undefined) throw policyInvalid('filesystem', `grants ${inside} and hides ${hidden}`);
  }
}

function checkLimits(limits: ResourceLimits): void {
  for (const [name, value] of Object.entries(limits)) {
    if (!LIMITS.some((known) => known === name)) throw policyInvalid(`limits.${name}`, 'is not a limit');
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
      throw policyInvalid(`limits.${name}`, `must be a whole number of at least 1, not ${value}`);
    }
  }
}

/** Checks that a policy means what it says: paths, patterns, numbers and contradictions. Throws POLICY_INVALID. */
export function checkPolicy(policy: Policy): void {
  const { filesystem, network, limits } = policy;
  for (const kind of ['read', 'write', 'hide'] as const) checkPaths(`filesystem.${kind}`, filesystem[kind]);
  checkContradictions(filesystem);
  if (!NETWORKS.includes(network.kind)) {
    throw policyInvalid('network.kind', `must be one of ${NETWORKS.join(', ')}, not ${JSON.stringify(network.kind)}`);
  }
  if (network.kind === 'allow' && network.hosts.length === 0) {
    throw policyInvalid('network.hosts', 'allows nobody: list a host, or take the network none');
  }
  hostPatterns(network);
  checkLimits(limits);
}

/** What a policy grants for a path: the innermost grant around it decides. */
function granted(policy: FilesystemPolicy, path: string): 'read' | 'write' | undefined {
  const around = (['read', 'write'] as const)
    .flatMap((kind) => policy[kind].map((folder) => ({ kind, folder })))
    .filter(({ folder }) => beneath(path, folder));
  around.sort((a, b) => b.folder.length - a.folder.length);
  return around[0]?.kind;
}

function narrowPaths(policy: FilesystemPolicy, request: Partial<FilesystemPolicy>): FilesystemPolicy {
  for (const path of request.read ?? []) {
    if (granted(policy, path) === undefined) {
      throw widened('filesystem.read', `asks for ${path}, which the policy does not grant`);
    }
  }
  for (const path of request.write ?? []) {
    if (granted(policy, path) !== 'write') {
      throw widened('filesystem.write', `asks for ${path}, which the policy does not grant to be written`);
    }
  }
  const read = request.read ?? policy.read;
  const write = request.write ?? policy.write;
  // What was only readable inside a writable folder must not become writable by leaving it out.
  const kept = policy.read.filter((path) => !read.includes(path) && write.some((folder) => beneath(path, folder)));
  const hide = [...new Set([...policy.hide, ...(request.hide ?? [])])];
  return { read: [...read, ...kept], write, hide };
}

function narrowNetwork(policy: NetworkPolicy, request: NetworkPolicy): NetworkPolicy {
  const order = (network: NetworkPolicy): number => NETWORKS.indexOf(network.kind);
  if (order(request) > order(policy)) {
    throw widened('network', `asks for ${request.kind}, and the policy has ${policy.kind}`);
  }
  const listed = hostPatterns(policy);
  // A list below `full` or `host` says which of everything; only addresses that `full` leaves out must be on its own list.
  for (const pattern of hostPatterns(request)) {
    if (policy.kind === 'host' || listed.some((outer) => within(pattern, outer))) continue;
    if (policy.kind === 'full' && pattern.kind !== 'address') continue;
    throw widened('network.hosts', `asks for ${pattern.host}:${pattern.port}, which the policy does not grant`);
  }
  return request;
}

function narrowLimits(policy: ResourceLimits, request: ResourceLimits): ResourceLimits {
  for (const name of LIMITS) {
    const asked = request[name];
    const most = policy[name];
    if (asked !== undefined && most !== undefined && asked > most) {
      throw widened(`limits.${name}`, `asks for ${asked}, and the policy grants ${most}`);
    }
  }
  return { ...policy, ...request };
}

/** Applies what a call asks for, which can only be less than the policy grants. Throws POLICY_WIDENED or POLICY_INVALID. */
export function narrow(policy: Policy, request: PolicyRequest): Policy {
  const narrowed = {
    filesystem: narrowPaths(policy.filesystem, request.filesystem ?? {}),
    network: request.network === undefined ? policy.network : narrowNetwork(policy.network, request.network),
    limits: narrowLimits(policy.limits, request.limits ?? {}),
  };
  checkPolicy(narrowed);
  return narrowed;
}
