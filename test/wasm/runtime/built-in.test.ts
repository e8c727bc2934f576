import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { C_GUEST, MISBEHAVE, open } from '../guests.js';

const status = (pid: number, file: string): string => readFileSync(`/proc/${pid}/${file}`, 'latin1');

describe('the built-in runtime', () => {
  it('says what it is and what it enforces', async () => {
    const { client, events } = await open(C_GUEST, { limits: { memoryBytes: 32 * 1024 * 1024 } });
    expect(client.runtime).toMatchObject({
      name: 'builtin',
      version: process.version,
      enforces: { memory: '33554432 bytes, by V8', environment: 'empty', fileSystem: expect.stringContaining('none') },
    });
    await client.call['add']?.([1, 1]);
    expect(events[0]).toMatchObject({ type: 'started', runtime: { name: 'builtin' } });
  });

  it('has an empty environment, no folder of ours, no handles but its own, and the permission model on', async () => {
    const { client } = await open(C_GUEST);
    await client.call['add']?.([1, 1]);
    const [pid = 0] = client.pids;
    expect(status(pid, 'environ')).toBe('');
    expect(status(pid, 'cmdline')).toMatch(/-permission\0/);
    expect(status(pid, 'cmdline')).toContain('--wasm-max-mem-pages=4096');
    expect(status(pid, 'limits')).toMatch(/Max data size\s+1342177280/);
  });

  it('lets the guest open no file, use no handle but its three, and see no variable', async () => {
    const { client } = await open(MISBEHAVE);
    expect(await client.call['probe']?.()).toEqual([0, 0]);
  });
});
