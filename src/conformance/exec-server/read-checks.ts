import type { Check } from '../check.js';
import { NotApplicable } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { chunksOf, type ExecClient, textOf } from './client.js';
import { FLOOD_BYTES, FLOOD_LINES, SHORT_WAIT_MS } from './limits.js';
import { type ExecSession, inEach } from './session.js';
import { FOREVER } from './shell.js';

const group = 'Read';

/** Starts a process on a terminal that writes two chunks with a write between them, and waits for both. */
async function twoChunks(client: ExecClient): Promise<void> {
  await client.start('p', `stty -echo; printf one; read line; printf two; ${FOREVER}`, { tty: true });
  await client.shows('p', 'one');
  await client.writes('p', '\n');
  await client.shows('p', 'two');
}

/** Reads twice what a process wrote to either stream. */
async function expectKept(client: ExecClient): Promise<void> {
  for (const time of ['first', 'second']) {
    const chunks = chunksOf(await client.read('p'));
    for (const [stream, wanted] of Object.entries({ stdout: 'kept\n', stderr: 'err\n' })) {
      const parts = chunks.filter((chunk) => chunk.stream === stream).map(({ bytes }) => bytes);
      expectEqual(Buffer.concat(parts).toString(), wanted, `${stream} in the ${time} read`);
    }
  }
}

/** What `process/read` gives, and when. */
export const READ_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.read.shape',
    title: 'process/read answers chunks with seq, stream and chunk, nextSeq, exited and exitCode',
    level: 'MUST',
    group,
    cites: ['exec-server.read.request', 'exec-server.read.response', 'exec-server.read.by-number'],
    run: inEach(async (client) => {
      await client.start('p', `printf hello; ${FOREVER}`, { tty: true });
      await client.shows('p', 'hello');
      const read = await client.read('p', { maxBytes: 65_536, waitMs: 250 });
      expectEqual(textOf(read), 'hello', 'the bytes of the chunks');
      const streams = new Set(chunksOf(read).map(({ stream }) => stream));
      expectEqual([...streams], ['pty'], 'the streams of the chunks');
      expectThat(Number.isSafeInteger(read['nextSeq']), 'a whole number as nextSeq', read);
      expectEqual([read['exited'], read['exitCode'] ?? null], [false, null], 'exited and exitCode');
    }),
  },
  {
    id: 'exec-server.read.retained',
    title: 'Output can be read after it was announced, again and again',
    level: 'MUST',
    group,
    cites: ['exec-server.read.retained', 'exec-server.read.after-seq'],
    run: inEach(async (client) => {
      await client.start('p', `echo kept; echo err >&2; ${FOREVER}`);
      await client.shows('p', 'kept\n');
      await client.shows('p', 'err\n');
      await expectKept(client);
    }),
  },
  {
    id: 'exec-server.read.retained-after-exit',
    title: 'Output can be read after the exit, again and again',
    level: 'RECOMMENDED',
    reason:
      'a client that polls learns of the exit by such a read; the text does not say how long an ended process is kept',
    group,
    cites: ['exec-server.read.retained'],
    run: inEach(async (client) => {
      await client.run('p', 'echo kept; echo err >&2');
      await client.shows('p', 'kept\n');
      await client.shows('p', 'err\n');
      await expectKept(client);
    }),
  },
  {
    id: 'exec-server.read.after-seq',
    title: 'afterSeq is exclusive: a read gives what comes after it, and 0 gives all that is kept',
    level: 'MUST',
    group,
    cites: ['exec-server.read.after-seq'],
    run: inEach(async (client) => {
      await twoChunks(client);
      expectEqual(textOf(await client.read('p', { afterSeq: 0 })), 'onetwo', 'what is read after 0');
      const [first] = chunksOf(await client.read('p', { afterSeq: 0 }));
      expectEqual(
        textOf(await client.read('p', { afterSeq: first?.seq })),
        'two',
        'what is read after the first chunk',
      );
    }),
  },
  {
    id: 'exec-server.read.numbers',
    title: 'Chunks of both streams share one counter without gaps, and nextSeq is the number after the last chunk',
    level: 'RECOMMENDED',
    reason: 'the example says so; a client reads on from nextSeq - 1 and would miss or repeat output otherwise',
    group,
    cites: ['exec-server.read.response'],
    run: inEach(async (client) => {
      await client.start(
        'p',
        `for i in 1 2 3; do echo out$i; sleep 0.05; echo err$i >&2; sleep 0.05; done; ${FOREVER}`,
      );
      await client.shows('p', 'out3');
      await client.shows('p', 'err3');
      const read = await client.read('p');
      const numbers = chunksOf(read).map(({ seq }) => seq);
      expectEqual(
        numbers,
        numbers.map((_, index) => index + 1),
        'the numbers of the chunks',
      );
      expectEqual(read['nextSeq'], numbers.length + 1, 'nextSeq');
    }),
  },
  {
    id: 'exec-server.read.max-bytes',
    title: 'maxBytes bounds an answer, which has a chunk all the same, and nextSeq leads to the rest',
    level: 'RECOMMENDED',
    reason: 'the text names maxBytes and does not define it; an answer without any chunk would never get further',
    group,
    cites: ['exec-server.read.request'],
    run: inEach(async (client) => {
      await twoChunks(client);
      const read = await client.read('p', { maxBytes: 3 });
      expectEqual(textOf(read), 'one', 'what is read with maxBytes 3');
      const rest = await client.read('p', { afterSeq: Number(read['nextSeq']) - 1, maxBytes: 1 });
      expectEqual(textOf(rest), 'two', 'what is read on with maxBytes 1');
    }),
  },
  {
    id: 'exec-server.read.wait-for-output',
    title: 'waitMs waits for output, and no longer than until it comes',
    level: 'MUST',
    group,
    cites: ['exec-server.read.wait'],
    run: inEach(async (client, session) => {
      await client.start('p', `sleep 0.3; printf late; ${FOREVER}`);
      expectEqual(textOf(await client.read('p', { waitMs: session.longWaitMs })), 'late', 'what is read');
    }),
  },
  {
    id: 'exec-server.read.wait-for-exit',
    title: 'waitMs waits for the exit, and no longer than until it comes',
    level: 'MUST',
    group,
    cites: ['exec-server.read.wait'],
    run: inEach(async (client, session) => {
      await client.start('p', 'sleep 0.3; exit 5');
      const read = await client.read('p', { waitMs: session.longWaitMs });
      expectEqual([read['chunks'], read['exited'], read['exitCode']], [[], true, 5], 'chunks, exited and exitCode');
    }),
  },
  {
    id: 'exec-server.read.wait-is-over',
    title: 'A read of a silent process is answered without chunks: at once without waitMs, and after it otherwise',
    level: 'MUST',
    group,
    cites: ['exec-server.read.wait'],
    run: inEach(async (client) => {
      await client.start('p', FOREVER);
      for (const params of [{}, { waitMs: 0 }, { waitMs: SHORT_WAIT_MS }]) {
        const read = await client.read('p', params);
        expectEqual([read['chunks'], read['exited']], [[], false], `chunks and exited with ${JSON.stringify(params)}`);
      }
    }),
  },
  {
    id: 'exec-server.read.wait-blocks-nobody',
    title: 'A read that waits does not hold up other requests',
    level: 'RECOMMENDED',
    reason: 'a client that waits for output could not type, nor end the process',
    group,
    cites: ['exec-server.read.wait'],
    run: inEach(async (client, session) => {
      await client.start('p', 'read line; exit 6', { tty: true });
      const id = client.request('process/read', { processId: 'p', afterSeq: 100, waitMs: session.longWaitMs });
      await client.writes('p', '\n');
      await client.exited('p');
      await client.answer(id, 'the read that waits');
    }),
  },
  {
    id: 'exec-server.read.after-exit',
    title: 'After the exit a read says exited, and the exit code',
    level: 'RECOMMENDED',
    reason: 'the fields are there for it; the text does not say how long an ended process is kept',
    group,
    cites: ['exec-server.read.response'],
    run: inEach(async (client) => {
      for (const code of [0, 9]) {
        await client.run(`p${code}`, `exit ${code}`);
        const read = await client.read(`p${code}`);
        expectEqual([read['exited'], read['exitCode']], [true, code], 'exited and exitCode');
      }
    }),
  },
  {
    id: 'exec-server.read.unknown',
    title: 'A read of an unknown processId is refused',
    level: 'RECOMMENDED',
    reason: 'there is nothing to answer, and an empty answer would look like a silent process',
    group,
    cites: [],
    run: inEach(async (client) => {
      await client.refusal('process/read', { processId: 'nobody', afterSeq: 0 }, 'the read to be refused');
    }),
  },
  {
    id: 'exec-server.read.oldest-dropped',
    title: 'When more was written than is kept, the oldest chunks are dropped: what is left is the end of the output',
    level: 'MUST',
    group,
    cites: ['exec-server.read.dropped', 'exec-server.read.retained'],
    run: inEach(async (client) => {
      await client.start('p', `seq 1 ${FLOOD_LINES}; ${FOREVER}`);
      await client.flooded('p', FLOOD_BYTES);
      const kept: { seq: number; bytes: Buffer }[] = [];
      for (;;) {
        const afterSeq = kept.at(-1)?.seq ?? 0;
        const chunks = chunksOf(await client.read('p', { afterSeq, maxBytes: 262_144 }));
        if (chunks.length === 0) break;
        expectThat(chunks[0]!.seq > afterSeq, `chunks after ${afterSeq}`, `chunk ${chunks[0]!.seq}`);
        kept.push(...chunks);
      }
      const [oldest, newest] = [kept[0]?.seq ?? 0, kept.at(-1)?.seq ?? 0];
      if (oldest === 1) throw new NotApplicable('the target keeps 1.6 MB and more');
      const missing = newest - oldest + 1 - kept.length;
      expectThat(missing === 0, 'no gap between kept chunks', `${missing} missing`);
      const end = kept
        .slice(-2)
        .map(({ bytes }) => bytes.toString())
        .join('')
        .slice(-20);
      expectThat(end.endsWith(`${FLOOD_LINES - 1}\n${FLOOD_LINES}\n`), 'the last lines among what is kept', end);
    }),
  },
];
