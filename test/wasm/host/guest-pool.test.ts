import { describe, expect, it } from 'vitest';
import { C_GUEST, failure, MISBEHAVE, open } from '../guests.js';

describe('warm spares', () => {
  it('are started ahead, take over after a failure, and are replaced', async () => {
    const { client, events } = await open(MISBEHAVE, { warm: 1 });
    const started = (): number => events.filter(({ type }) => type === 'started').length;
    await expect.poll(started).toBe(1);
    expect(await client.call['add']?.([1, 2])).toBe(3);
    await expect.poll(started).toBe(2);
    await failure(client.call['misbehave']?.('exit') ?? Promise.resolve());
    expect(await client.call['add']?.([1, 2])).toBe(3);
    await expect.poll(started).toBe(3);
    expect(client.pids).toHaveLength(2);
  });

  it('that cannot start are given up instead of started for ever', async () => {
    const { client, events } = await open(
      Buffer.from(
        '0061736d010000000104016000000302010005030100010713020 66d656d6f72790200065f737461727400000a05010300000b'.replaceAll(
          ' ',
          '',
        ),
        'hex',
      ),
      { warm: 2 },
    );
    await expect.poll(() => events.filter(({ type }) => type === 'ended').length).toBeGreaterThanOrEqual(2);
    expect(events.filter(({ type }) => type === 'started').length).toBeLessThan(8);
    await client.dispose();
  });
});

describe('a pool', () => {
  it('spreads calls over its guests', async () => {
    const { client } = await open(C_GUEST, { pool: { size: 2 } });
    const sleeps = [client.call['sleep']?.(300), client.call['sleep']?.(300)];
    await Promise.all(sleeps);
    expect(client.pids).toHaveLength(2);
  });

  it('replaces a guest after so many calls, once it has finished what it had', async () => {
    const { client, events } = await open(C_GUEST, { pool: { recycleCalls: 3 } });
    const slow = client.call['sleep']?.(300);
    await client.call['logEvent']?.();
    await client.call['logEvent']?.();
    expect(await client.call['countEvents']?.()).toBe(0);
    expect(await slow).toBe(1);
    expect(events.find(({ type }) => type === 'recycled')).toMatchObject({ guest: 1, calls: 3 });
    await expect
      .poll(() => events.find(({ type }) => type === 'ended'))
      .toMatchObject({ guest: 1, exitCode: 0, error: undefined });
  });

  it('replaces a guest after so many bytes', async () => {
    const { client, events } = await open(C_GUEST, { pool: { recycleBytes: 100_000 } });
    for (let index = 0; index < 4; index += 1) await client.call['echo']?.(new Uint8Array(30_000));
    expect(events.filter(({ type }) => type === 'recycled')).toHaveLength(1);
  });
});
