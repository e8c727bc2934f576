import { describe, expect, it } from 'vitest';
import { gone, numbers } from '../sandbox/helpers.js';
import { connect, connectTo, KINDS, laterStart, type RawClient, sharedServer, start } from './raw-client.js';

const server = sharedServer();

/** A process with a child, a grandchild and one that ignores hang-ups; it prints all pids. */
const FAMILY = `trap '' TERM HUP
(sleep 300 & echo $!; exec sleep 300) & echo $!
nohup sleep 300 >/dev/null 2>&1 & echo $!
echo $$; echo end; exec sleep 300`;

/** The pids of such a family, once all four are known. */
async function family(client: RawClient, processId: string): Promise<number[]> {
  await client.until(() => numbers(client.output(processId)).length === 4 && client.output(processId).includes('end'));
  return numbers(client.output(processId));
}

describe.each(KINDS)('nothing survives over %s', (kind) => {
  it.each(['pipes', 'terminal'])('terminate, with %s', async (stdio) => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('f', FAMILY, { tty: stdio === 'terminal' }));
    const pids = await family(client, 'f');
    await client.call('process/terminate', { processId: 'f' });
    expect(await gone(pids)).toBe(true);
  });

  it('terminate of a process that has exited and left others behind', async () => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('f', 'nohup sleep 300 >/dev/null 2>&1 & echo $!'));
    await client.notification('process/exited', 'f');
    const pids = numbers(client.output('f'));
    expect((await client.call('process/terminate', { processId: 'f' })).result).toEqual({ running: false });
    expect(await gone(pids)).toBe(true);
  });

  it('the end of the connection', async () => {
    const client = await (await connectTo(kind, server)).first();
    await client.call('process/start', start('f', FAMILY));
    await client.call('process/start', start('left', 'nohup sleep 300 >/dev/null 2>&1 & echo $!; echo end'));
    const pids = [...(await family(client, 'f')), ...numbers(await client.shows('left', 'end'))];
    client.end();
    expect(await gone(pids)).toBe(true);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('%s of the server', async (signal) => {
    const client = await connect(kind);
    await client.later();
    await client.call('process/start', laterStart('f', FAMILY));
    await client.call('process/start', laterStart('t', FAMILY, { tty: true }));
    const pids = [...(await family(client, 'f')), ...(await family(client, 't'))];
    expect(pids).toHaveLength(8);
    client.server?.child.kill(signal);
    expect(await client.server?.exited).toBe(signal === 'SIGTERM' ? 0 : null);
    expect(await gone(pids)).toBe(true);
  });
});

describe('the end of standard input', () => {
  it('ends processes of the later dialect at once, with exit code 0', async () => {
    const client = await connect('stdio');
    await client.later();
    await client.call('process/start', laterStart('f', FAMILY));
    const pids = await family(client, 'f');
    client.end();
    expect(await client.server?.exited).toBe(0);
    expect(await gone(pids)).toBe(true);
  });
});
