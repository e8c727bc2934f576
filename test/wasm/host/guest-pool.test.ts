import { describe, expect, it } from 'vitest';
import { C_GUEST, failure, MISBEHAVE, open } from '../guests.js';
import { LOOP, section, wasm } from '../wasm-bytes.js';

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

  it('that end before they are needed are replaced', async () => {
    const { client, events } = await open(C_GUEST, { warm: 1 });
    await expect.poll(() => client.pids).toHaveLength(1);
    const [pid] = client.pids;
    process.kill(pid ?? 0, 'SIGKILL');
    await expect.poll(() => events.filter(({ type }) => type === 'started')).toHaveLength(2);
    expect(client.pids).not.toContain(pid);
  });

  it('that break the rules before they are needed are given up as well', async () => {
    const { events } = await open(CHATTY, { warm: 2 });
    const ended = (): number => events.filter(({ type }) => type === 'ended').length;
    await expect.poll(ended).toBeGreaterThanOrEqual(4);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(events.filter(({ type }) => type === 'started').length).toBeLessThan(8);
    expect(events.find(({ type }) => type === 'ended')).toMatchObject({ error: { code: 'WASM_OUTPUT_NOT_PROTOCOL' } });
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

/** Prints a text and waits for ever. */
const CHATTY = wasm(
  section(1, [2, 0x60, 0, 0, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f]),
  section(2, [1, 22, ...Buffer.from('wasi_snapshot_preview1'), 8, ...Buffer.from('fd_write'), 0, 1]),
  section(3, [1, 0]),
  section(5, [1, 0, 1]),
  section(7, [2, 6, ...Buffer.from('memory'), 2, 0, 6, ...Buffer.from('_start'), 0, 1]),
  section(10, [1, 18, 0, 0x41, 1, 0x41, 0, 0x41, 1, 0x41, 16, 0x10, 0, 0x1a, ...LOOP, 0x0b]),
  section(11, [1, 0, 0x41, 0, 0x0b, 12, 8, 0, 0, 0, 4, 0, 0, 0, ...Buffer.from('text')]),
);

describe('a pool', () => {
  it('keeps a busy guest while another is on its way', async () => {
    const { client, events } = await open(C_GUEST, { pool: { size: 2 } });
    await client.call['add']?.([1, 2]);
    const calls = [client.call['sleep']?.(800), client.call['sleep']?.(10), client.call['sleep']?.(10)];
    await Promise.all(calls);
    expect(events.filter(({ type }) => type === 'started')).toHaveLength(2);
    expect(client.pids).toHaveLength(2);
  });

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
