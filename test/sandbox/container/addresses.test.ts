import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalAddress, looksNumeric, specialAddress } from '../../../src/sandbox/container/addresses.js';

test.each([
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['::FFFF:7f00:1', '127.0.0.1'],
  ['0:0:0:0:0:ffff:a9fe:a9fe', '169.254.169.254'],
  ['64:ff9b::169.254.169.254', '169.254.169.254'],
  ['FD00:EC2::254', 'fd00:ec2::254'],
  ['0:0:0:0:0:0:0:1', '::1'],
  ['8.8.8.8', '8.8.8.8'],
  ['fe80::1%eth0', undefined],
  ['0177.0.0.1', undefined],
  ['example.com', undefined],
])('%s is spelled %s', (text, spelled) => {
  expect(canonicalAddress(text)).toBe(spelled);
});

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.31.255.255',
  '192.168.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:10.0.0.1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '2001:0:1::',
  'fd00:ec2::254',
  'fe80::1',
  'ff02::1',
])('%s is not of the public internet', (address) => {
  expect(specialAddress(address)).toEqual(expect.any(String));
});

test.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '2606:4700::1111'])('%s is', (address) => {
  expect(specialAddress(address)).toBeUndefined();
});

test.each(['127.1', '0x7f.1', '0177.0.0.1', '2130706433', '0x7f000001', '1.2.3.0x4', '127.0.0.1.', '0x'])(
  '%s would be read as a number',
  (host) => {
    expect(looksNumeric(host)).toBe(true);
  },
);

test('an IPv4 address inside an IPv6 one is judged like itself', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(specialAddress(`::ffff:${address}`)).toBe(specialAddress(address));
      expect(specialAddress(`64:ff9b::${address}`)).toBe(specialAddress(address));
    }),
  );
});
