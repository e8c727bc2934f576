import type { Check } from '../check.js';
import { expectEqual } from '../expect.js';
import { type ExecSession, inEach } from './session.js';
import { FOREVER } from './shell.js';

const group = 'Write';
const PASTE_BYTES = 64 * 1024;
const WRITES = 40;

/** A script that takes so many bytes from a raw terminal, and says before that it is ready. */
function takes(bytes: number, then: string): string {
  return `stty raw -echo; printf ready; head -c ${bytes} | ${then}`;
}

/** What `process/write` does. */
export const WRITE_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.write.terminal',
    title: 'A write reaches the process on the terminal and is acknowledged',
    level: 'MUST',
    group,
    cites: [
      'exec-server.start.pty-writes',
      'exec-server.write.request',
      'exec-server.write.response',
      'exec-server.write.raw',
    ],
    run: inEach(async (client) => {
      await client.start('p', 'echo up; read line; echo "got:$line"', { tty: true });
      await client.shows('p', 'up');
      await client.writes('p', 'hello\n');
      await client.shows('p', 'got:hello');
    }),
  },
  {
    id: 'exec-server.write.bytes',
    title: 'The chunk is base64, and all 256 byte values reach a raw terminal',
    level: 'MUST',
    group,
    cites: ['exec-server.write.base64', 'exec-server.write.raw'],
    run: inEach(async (client) => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
      await client.start('p', takes(256, 'od -An -v -tx1'), { tty: true });
      await client.shows('p', 'ready');
      await client.writes('p', bytes);
      await client.finished('p');
      const arrived = (): string => client.output('p').toString().replace('ready', '').replaceAll(/\s/g, '');
      await client.until('256 bytes in hexadecimal', () => arrived().length >= 2 * bytes.length);
      expectEqual(arrived(), bytes.toString('hex'), 'the bytes in hexadecimal');
    }),
  },
  {
    id: 'exec-server.write.unknown',
    title: 'A write to an unknown processId is rejected',
    level: 'MUST',
    group,
    cites: ['exec-server.write.unknown', 'exec-server.errors.write-unknown'],
    run: inEach((client) => client.cannotWrite('nobody', 'unknownProcess')),
  },
  {
    id: 'exec-server.write.pipes',
    title: 'A write to a process on pipes is rejected, because its stdin is closed',
    level: 'MUST',
    group,
    cites: ['exec-server.write.non-pty', 'exec-server.start.pipe-stdin', 'exec-server.errors.write-non-pty'],
    run: inEach(async (client) => {
      await client.start('p', FOREVER);
      await client.cannotWrite('p', 'stdinClosed');
    }),
  },
  {
    id: 'exec-server.write.bad-base64',
    title: 'A chunk that is no base64 is refused',
    level: 'MUST',
    group,
    cites: ['exec-server.write.base64', 'exec-server.errors.malformed-params'],
    run: inEach(async (client) => {
      await client.start('p', FOREVER, { tty: true });
      const writeId = client.dialect === 'first' ? {} : { writeId: 'w' };
      for (const chunk of ['%%%%', 'not base64!', 5]) {
        await client.refusal(
          'process/write',
          { processId: 'p', chunk, ...writeId },
          `the chunk ${chunk} to be refused`,
        );
      }
    }),
  },
  {
    id: 'exec-server.write.in-order',
    title: 'Writes that are sent without waiting arrive in their order',
    level: 'RECOMMENDED',
    reason: 'a person types faster than answers travel',
    group,
    cites: ['exec-server.write.raw'],
    run: inEach(async (client) => {
      const words = Array.from({ length: WRITES }, (_, index) => `${String(index).padStart(3, '0')};`);
      await client.start('p', takes(WRITES * 4, 'cat'), { tty: true });
      await client.shows('p', 'ready');
      const sent = words.map((word) => client.requestWrite('p', word));
      for (const id of sent) client.expectAccepted(await client.answer(id, 'process/write'));
      await client.finished('p');
      expectEqual(client.output('p').toString(), `ready${words.join('')}`, 'what arrived');
    }),
  },
  {
    id: 'exec-server.write.paste',
    title: 'A large write reaches the process as a whole',
    level: 'RECOMMENDED',
    reason: 'a terminal takes a few kilobytes at a time; what it does not take at once must not be lost',
    group,
    cites: ['exec-server.write.raw'],
    run: inEach(async (client) => {
      await client.start('p', takes(PASTE_BYTES, 'tr -d x | wc -c'), { tty: true });
      await client.shows('p', 'ready');
      const paste = Buffer.alloc(PASTE_BYTES, 'x');
      for (let at = 0; at < PASTE_BYTES; at += 64) paste[at] = 0x79;
      await client.writes('p', paste);
      await client.finished('p');
      expectEqual(client.output('p').toString().replace('ready', '').trim(), `${PASTE_BYTES / 64}`, 'the count of y');
    }),
  },
  {
    id: 'exec-server.write.after-exit',
    title: 'A write to a terminal whose process has ended is not acknowledged',
    level: 'RECOMMENDED',
    reason: 'the text speaks of a running process; an acknowledged write that nobody reads is lost in silence',
    group,
    cites: ['exec-server.write.raw'],
    run: inEach(async (client) => {
      await client.run('p', 'exit 0', { tty: true });
      await client.cannotWrite('p', 'stdinClosed');
    }),
  },
];
