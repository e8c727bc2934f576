import { describe, expect, it } from 'vitest';
import { formatListenAddress, isLoopback, parseListenAddress } from '../../src/wire/listen-address.js';

describe('an address to listen on', () => {
  it.each([
    ['ws://127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
    ['ws://127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
    ['ws://0.0.0.0:65535/', { host: '0.0.0.0', port: 65_535 }],
    ['ws://[::1]:9', { host: '::1', port: 9 }],
  ])('%s is one', (text, address) => {
    expect(parseListenAddress(text)).toEqual({ ok: true, address });
  });

  it.each([
    'ws://localhost:8080',
    'ws://127.0.0.1',
    'ws://127.1:80',
    'ws://0x7f000001:80',
    'ws://127.0.0.1:70000',
    'ws://127.0.0.1:-1',
    'ws://::1:80',
    'ws://[127.0.0.1]:80',
    'ws://127.0.0.1:80/path',
    'wss://127.0.0.1:80',
    'http://127.0.0.1:80',
    'ws://user@127.0.0.1:80',
    'stdio',
    '',
  ])('%j is none, and the message says what one looks like', (text) => {
    const parsed = parseListenAddress(text);
    expect(parsed.ok).toBe(false);
    expect(parsed.ok ? '' : parsed.message).toContain('expected ws://IP:PORT');
  });

  it('is written with brackets when it is of version 6', () => {
    expect(formatListenAddress({ host: '::1', port: 80 })).toBe('ws://[::1]:80');
  });

  it('knows what only this machine can reach', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(isLoopback)).toBe(true);
    expect(['0.0.0.0', '::', '10.0.0.1', '127.evil.example', ''].some(isLoopback)).toBe(false);
  });
});
