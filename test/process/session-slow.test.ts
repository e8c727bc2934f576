import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { FileHandles } from '../../src/process/fs/handles.js';
import { ExecClient, processLimits, type SessionEvent } from '../../src/process/index.js';
import { ownServer } from './helpers.js';
import { PATH } from './raw-client.js';

const TRUE = { argv: ['true'], cwd: '/', env: { PATH }, tty: false };

describe('a session whose client is slow', () => {
  it('keeps the end of a process until it could be sent', async () => {
    const timers = new Map<number, () => void>();
    const clock = {
      setTimeout: (callback: () => void) => {
        timers.set(timers.size, callback);
        return timers.size - 1;
      },
      clearTimeout: (timer: unknown) => void timers.delete(timer as number),
    };
    const fire = (): void => {
      const due = [...timers.values()];
      timers.clear();
      for (const callback of due) callback();
    };
    const { handler } = ownServer({ clock, limits: { processes: 1 } });
    const session = handler.sessions.open({ dialect: 'later', principal: '', maxChunkBytes: 1_024 });
    const sent: SessionEvent[] = [];
    session.attach({
      deliver: (event) => {
        sent.push(event);
        return 'wait';
      },
    });
    session.send({ type: 'bodyDelta', requestId: 'r', seq: 1, bytes: Buffer.alloc(0), done: false, error: null });
    const process = await handler.start(session, { ...TRUE, processId: 'p' });
    process.begin();
    await expect.poll(() => process.closed).toBe(true);
    fire();
    expect(session.processes.has('p')).toBe(true);
    // What waits is bounded: it counts as if it still ran.
    await expect(handler.start(session, { ...TRUE, processId: 'q' })).rejects.toThrow(/limit is 1/);
    session.ready();
    session.ready();
    expect(sent.map(({ type }) => type)).toEqual(['bodyDelta', 'exited', 'closed']);
    fire();
    expect(session.processes.has('p')).toBe(false);
  });
});

describe('a process that its observer ends', () => {
  it('is ended also when that comes while it is being started', async () => {
    const observer = {
      process: (_session: unknown, { terminate }: { readonly terminate: () => void }) => {
        terminate();
        return { started: () => {}, ended: () => {}, connected: () => {} };
      },
      request: () => ({ decided: () => {}, ended: () => {} }),
    };
    const client = await ExecClient.connectInProcess(ownServer({ observer }));
    const handle = await client.start({ argv: ['sleep', '60'], cwd: '/', env: { PATH } });
    expect((await handle.wait()).exitCode).toBe(137);
  });
});

describe('file handles', () => {
  it('belong to the open that was last, whichever is done first', async () => {
    const files = new FileHandles(processLimits());
    const opening: ((file: FileHandle) => void)[] = [];
    const later = (): Promise<FileHandle> => new Promise((resolve) => opening.push(resolve));
    const first = files.open('h', later);
    await files.close('h');
    const second = files.open('h', later);
    opening[0]?.(await open('/proc/self/status'));
    await first;
    opening[1]?.(await open('/proc/self/cmdline'));
    await second;
    // Files of /proc have content and no size.
    const { bytes } = await files.readBlock('h', 0, 1_000_000);
    expect(bytes.equals(readFileSync('/proc/self/cmdline'))).toBe(true);
    await files.closeAll();
  });
});
