import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GUEST_POLICY, processPolicy } from '../../../src/sandbox/container/policies.js';
import { checkPolicy, type NetworkPolicy, narrow, type Policy } from '../../../src/sandbox/container/policy.js';

const files = (filesystem: Partial<Policy['filesystem']>): Policy => ({
  ...GUEST_POLICY,
  filesystem: { ...GUEST_POLICY.filesystem, ...filesystem },
});
const net = (network: NetworkPolicy): Policy => ({ ...GUEST_POLICY, network });

describe('a policy that cannot be meant as written is refused', () => {
  test.each([
    ['relative/path', 'must be an absolute path'],
    ['', 'must be an absolute path'],
    ['/work/\0/x', 'must not contain a NUL'],
    ['/work/../etc', 'must be written without detours: "/etc"'],
    ['/work/', 'must be written without detours: "/work"'],
    ['//work', 'must be written without detours: "/work"'],
    ['/', 'must not be the root'],
    ['/proc', 'must not be in /proc'],
    ['/proc/1/root', 'must not be in /proc'],
    ['/sys/fs/cgroup', 'must not be in /sys'],
    ['/dev/sda', 'must not be in /dev'],
  ])('the path %j', (path, problem) => {
    for (const kind of ['read', 'write', 'hide'] as const) {
      expect(() => checkPolicy(files({ [kind]: [path] }))).toThrow(problem);
    }
  });

  test('contradictions', () => {
    expect(() => checkPolicy(files({ read: ['/a'], write: ['/a'] }))).toThrow('grants /a both as read and as write');
    expect(() => checkPolicy(files({ read: ['/a'], hide: ['/a'] }))).toThrow('grants /a and hides /a');
    expect(() => checkPolicy(files({ write: ['/a/b/c'], hide: ['/a/b'] }))).toThrow('grants /a/b/c and hides /a/b');
    expect(() => checkPolicy(net({ kind: 'allow', hosts: [] }))).toThrow('allows nobody');
  });

  test.each([
    '*',
    '*:443',
    '*.com:443',
    '*.*.example.com:443',
    'exam*ple.com:443',
    'example.com',
    'example.com:*',
    'example.com:0',
    'example.com:0443',
    'example.com:65536',
    'user@example.com:443',
    'https://example.com:443',
    'exa mple.com:443',
    'exämple.com:443',
    '0177.0.0.1:80',
    '127.1:80',
    '2130706433:80',
    '0x7f000001:80',
    '[::ffff:127.0.0.1]:80',
    '[fe80::1%eth0]:80',
    '::1:80',
    'a\0.example.com:443',
    '10.0.0.0/8:80',
  ])('the host %j', (host) => {
    expect(() => checkPolicy(net({ kind: 'allow', hosts: [host] }))).toThrow(/network\.hosts\[0\]/);
  });

  test('limits that are none', () => {
    for (const memoryBytes of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => checkPolicy({ ...GUEST_POLICY, limits: { memoryBytes } })).toThrow('limits.memoryBytes');
    }
  });
});

describe('a call can only narrow', () => {
  const policy: Policy = {
    filesystem: { read: ['/lib/data', '/w/fixed'], write: ['/w'], hide: ['/w/secret'] },
    network: { kind: 'allow', hosts: ['*.example.com:443', 'db.local:5432'] },
    limits: { memoryBytes: 1000, processes: 10 },
  };

  test('to folders below those granted, with what was fixed or hidden in them staying so', () => {
    expect(narrow(policy, { filesystem: { read: [], write: ['/w'] } }).filesystem).toEqual({
      read: ['/w/fixed'],
      write: ['/w'],
      hide: ['/w/secret'],
    });
    expect(narrow(policy, { filesystem: { read: ['/w/a'], write: [] } }).filesystem.read).toEqual(['/w/a']);
  });

  test('and never to anything else', () => {
    expect(() => narrow(policy, { filesystem: { read: ['/etc'] } })).toThrow('asks for /etc');
    expect(() => narrow(policy, { filesystem: { write: ['/lib/data'] } })).toThrow('to be written');
    expect(() => narrow(policy, { filesystem: { write: ['/w/fixed/x'] } })).toThrow('to be written');
    expect(() => narrow(policy, { filesystem: { write: ['/wide'] } })).toThrow('asks for /wide');
    expect(() => narrow(policy, { filesystem: { write: ['/w/secret/x'] } })).toThrow('hides /w/secret');
    expect(() => narrow(policy, { network: { kind: 'full' } })).toThrow('asks for full');
    expect(() => narrow(policy, { network: { kind: 'host' } })).toThrow('asks for host');
    expect(() => narrow(policy, { network: { kind: 'allow', hosts: ['example.com:443'] } })).toThrow('does not grant');
    expect(() => narrow(policy, { network: { kind: 'allow', hosts: ['a.example.com:80'] } })).toThrow('does not grant');
    expect(() => narrow(policy, { limits: { memoryBytes: 1001 } })).toThrow('asks for 1001');
    const full: Policy = { ...policy, network: { kind: 'full' } };
    expect(() => narrow(full, { network: { kind: 'allow', hosts: ['10.0.0.1:80'] } })).toThrow('does not grant');
    expect(narrow(full, { network: { kind: 'allow', hosts: ['a.org:80'] } }).network.kind).toBe('allow');
    const allowed = narrow(policy, { network: { kind: 'allow', hosts: ['*.a.example.com:443', 'b.example.com:443'] } });
    expect(allowed.network).toMatchObject({ kind: 'allow' });
  });

  test('so that narrowing twice grants no more than once', () => {
    const segment = fc.constantFrom('a', 'b', 'fixed', 'secret');
    const path = fc.array(segment, { minLength: 0, maxLength: 3 }).map((parts) => ['/w', ...parts].join('/'));
    fc.assert(
      fc.property(fc.array(path, { maxLength: 3 }), fc.array(path, { maxLength: 3 }), (read, write) => {
        try {
          const { filesystem } = narrow(policy, { filesystem: { read, write } });
          for (const granted of filesystem.write) expect(granted).not.toMatch(/^\/w\/(fixed|secret)/);
          expect(filesystem.hide).toContain('/w/secret');
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^POLICY_/) });
        }
      }),
    );
  });

  test('from the defaults: a command has its folder, and nothing has a network', () => {
    expect(processPolicy('/work')).toMatchObject({ filesystem: { write: ['/work'] }, network: { kind: 'none' } });
    expect(() => narrow(GUEST_POLICY, { network: { kind: 'loopback' } })).toThrow('asks for loopback');
  });
});
