import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject } from '../target/codec.js';
import { type ExecSession, inEach, inFirst } from './session.js';
import { FOREVER } from './shell.js';

const group = 'Output';
const LINES = 30_000;
const TERMINAL_BYTES = 200_000;
const ROUNDS = 5;

/** What `process/output` and `process/exited` say, and when. */
export const OUTPUT_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.output.streams',
    title: 'Output of pipes comes as stdout or stderr, as it was written',
    level: 'MUST',
    group,
    cites: ['exec-server.output.params', 'exec-server.output.stream', 'exec-server.lifecycle.notifications'],
    run: inEach(async (client) => {
      await client.run('p', 'echo to out; echo to err >&2');
      await client.expectOutput('p', 'to out\n', 'the output of stdout', 'stdout');
      await client.expectOutput('p', 'to err\n', 'the output of stderr', 'stderr');
    }),
  },
  {
    id: 'exec-server.output.pty',
    title: 'Output of a terminal comes as pty, whichever stream was written to',
    level: 'MUST',
    group,
    cites: ['exec-server.output.stream'],
    run: inEach(async (client) => {
      await client.run('p', 'echo to out; echo to err >&2', { tty: true });
      await client.shows('p', 'to out');
      const output = await client.shows('p', 'to err');
      expectEqual(client.output('p', 'pty').toString(), output, 'the output of pty');
    }),
  },
  {
    id: 'exec-server.output.fields',
    title: 'process/output has processId, stream and chunk, and in the later dialect seq',
    level: 'MUST',
    group,
    cites: ['exec-server.output.params'],
    run: inEach(async (client) => {
      await client.start('p', 'echo hi');
      const { params } = await client.notification('process/output', 'p');
      const wanted = ['chunk', 'processId', ...(client.dialect === 'first' ? [] : ['seq']), 'stream'];
      const fits = isObject(params) && wanted.every((name) => Object.hasOwn(params, name));
      expectThat(fits, `the fields ${wanted.join()}`, params);
    }),
  },
  {
    id: 'exec-server.output.while-running',
    title: 'Output comes while the process runs',
    level: 'MUST',
    group,
    cites: ['exec-server.start.output-async', 'exec-server.output.running'],
    run: inEach(async (client) => {
      for (const tty of [false, true]) {
        const id = tty ? 'terminal' : 'pipes';
        await client.start(id, `printf 'no line end'; ${FOREVER}`, { tty });
        await client.shows(id, 'no line end');
      }
    }),
  },
  {
    id: 'exec-server.output.bytes',
    title: 'Output is bytes in base64: all 256 values arrive',
    level: 'MUST',
    group,
    cites: ['exec-server.output.chunk'],
    run: inEach(async (client) => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
      const escapes = [...bytes].map((value) => `\\${value.toString(8).padStart(3, '0')}`).join('');
      await client.start('p', `printf '${escapes}'`);
      await client.until('256 bytes of output', () => client.output('p').length >= bytes.length);
      expectEqual(client.output('p').toString('hex'), bytes.toString('hex'), 'the bytes in hexadecimal');
    }),
  },
  {
    id: 'exec-server.output.complete',
    title: 'All output arrives, once and in order',
    level: 'MUST',
    group,
    cites: ['exec-server.start.output-async'],
    run: inEach(async (client) => {
      await client.run('p', `seq 1 ${LINES}`);
      const output = await client.shows('p', `\n${LINES}\n`);
      const lines = output.trimEnd().split('\n');
      const wrong = lines.findIndex((line, index) => line !== String(index + 1));
      const cameBack = wrong === -1 ? `${lines.length} lines` : `${lines[wrong]} in line ${wrong + 1}`;
      expectThat(wrong === -1 && lines.length === LINES, `the lines 1 to ${LINES}`, cameBack);
    }),
  },
  {
    id: 'exec-server.output.terminal-complete',
    title: 'All output of a terminal arrives, also what was written right before the exit',
    level: 'RECOMMENDED',
    reason: 'terminals throw away what is on its way when the last process leaves; a server has to read on first',
    group,
    cites: ['exec-server.start.output-async'],
    run: inEach(async (client) => {
      const script = `stty raw; head -c ${TERMINAL_BYTES} /dev/zero | tr '\\0' x`;
      await client.run('p', script, { tty: true });
      expectEqual(client.output('p').length, TERMINAL_BYTES, 'the number of bytes');
    }),
  },
  {
    id: 'exec-server.output.after-answer',
    title: 'No notification of a process comes before the answer to its process/start',
    level: 'RECOMMENDED',
    reason: 'a client that does not know yet whether the start worked drops what comes under the id',
    group,
    cites: ['exec-server.start.response'],
    run: inEach(async (client) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const [id, processId] = [
          client.request('process/start', client.startParams(`p${round}`, 'echo hi')),
          `p${round}`,
        ];
        await client.finished(processId);
        const answered = client.log.findIndex((message) => message['id'] === id);
        const first = client.log.indexOf(client.notes(processId)[0] ?? {});
        expectThat(answered !== -1 && answered < first, 'the answer to process/start first', client.log.slice(-4));
      }
    }),
  },
  {
    id: 'exec-server.exit.code',
    title: 'process/exited carries the processId and the exit code',
    level: 'MUST',
    group,
    cites: ['exec-server.exited.params', 'exec-server.start.exit-async'],
    run: inEach(async (client) => {
      for (const [tty, code] of [
        [false, 0],
        [false, 7],
        [true, 0],
        [true, 255],
      ] as const) {
        const id = `${tty ? 'terminal' : 'pipes'} ${code}`;
        expectEqual((await client.run(id, `exit ${code}`, { tty })).code, code, `the exit code on ${id}`);
      }
    }),
  },
  {
    id: 'exec-server.exit.final',
    title: 'process/exited comes once',
    level: 'MUST',
    group,
    cites: ['exec-server.exited.final'],
    run: inEach(async (client) => {
      await client.run('p', 'echo hi; echo there >&2');
      await client.peer.quiet('no second process/exited', ({ method }) => method === 'process/exited');
      const exits = client.notes('p').filter(({ method }) => method === 'process/exited');
      expectEqual(exits.length, 1, 'the number of process/exited');
    }),
  },
  {
    id: 'exec-server.exit.after-output',
    title: 'process/exited comes after all output that the process wrote',
    level: 'RECOMMENDED',
    reason: 'in the first dialect nothing else says that the output is complete; a client stops at the exit',
    group,
    cites: ['exec-server.exited.final'],
    run: inFirst(async (client) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await client.start(`p${round}`, 'seq 1 2000; echo err >&2; exit 3');
        await client.exited(`p${round}`);
        const lines = client.output(`p${round}`).toString().split('\n').length - 1;
        expectEqual(lines, 2_001, 'the number of lines before process/exited');
      }
      await client.peer.quiet('no output of processes that have exited', ({ method }) => method === 'process/output');
    }),
  },
  {
    id: 'exec-server.exit.signal',
    title: 'A process that a signal ended has 128 + the signal as exit code',
    level: 'RECOMMENDED',
    reason: 'exitCode is a number in every case, and this is the one that shells use',
    group,
    cites: ['exec-server.exited.params'],
    run: inEach(async (client) => {
      for (const tty of [false, true]) {
        const { code } = await client.run(tty ? 'terminal' : 'pipes', 'kill -TERM $$', { tty });
        expectEqual(code, 143, `the exit code on ${tty ? 'a terminal' : 'pipes'}`);
      }
    }),
  },
  {
    id: 'exec-server.exit.grandchild',
    title: 'process/exited does not wait for what the process left running',
    level: 'RECOMMENDED',
    reason: 'a background job that holds the pipe would keep its starter running for ever',
    group,
    cites: ['exec-server.start.exit-async'],
    run: inEach(async (client) => {
      await client.start('p', `${FOREVER} & echo up; exit 5`);
      expectEqual(await client.exited('p'), 5, 'the exit code');
      client.request('process/terminate', { processId: 'p' });
    }),
  },
];
