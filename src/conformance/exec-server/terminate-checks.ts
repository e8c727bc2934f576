import type { Check } from '../check.js';
import { expectEqual } from '../expect.js';
import { textOf } from './client.js';
import { type ExecSession, inEach, inFirst, needs } from './session.js';
import { AWAKE, beats, FOREVER, falls, heartbeat, sharedFile } from './shell.js';

/** How processes are ended, by a request or with their connection. */
export const TERMINATE_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.terminate.running',
    title: 'process/terminate answers running: true for a process that runs, and ends it',
    level: 'MUST',
    group: 'Terminate',
    cites: ['exec-server.terminate.ends', 'exec-server.terminate.request', 'exec-server.terminate.response'],
    run: inEach(async (client) => {
      for (const tty of [false, true]) {
        const id = tty ? 'terminal' : 'pipes';
        await client.start(id, `echo up; exec ${FOREVER}`, { tty });
        await client.shows(id, 'up');
        expectEqual(await client.terminate(id), { running: true }, `the result of process/terminate on ${id}`);
        await client.exited(id);
      }
    }),
  },
  {
    id: 'exec-server.terminate.stubborn',
    title: 'A process that ignores polite signals is ended too',
    level: 'MUST',
    group: 'Terminate',
    cites: ['exec-server.terminate.ends'],
    run: inEach(async (client) => {
      for (const tty of [false, true]) {
        const id = tty ? 'terminal' : 'pipes';
        await client.start(id, `trap '' TERM HUP INT; echo up; ${AWAKE}`, { tty });
        await client.shows(id, 'up');
        await client.terminate(id);
        await client.exited(id);
      }
    }),
  },
  {
    id: 'exec-server.terminate.unknown',
    title: 'process/terminate of an unknown processId answers running: false',
    level: 'MUST',
    group: 'Terminate',
    cites: ['exec-server.terminate.unknown'],
    run: inEach(async (client) => {
      expectEqual(await client.terminate('nobody'), { running: false }, 'the result of process/terminate');
    }),
  },
  {
    id: 'exec-server.terminate.after-exit',
    title: 'process/terminate of a process that has ended answers running: false',
    level: 'RECOMMENDED',
    reason:
      'the text says so of a process that is already removed; whether it still is kept makes no difference to a client',
    group: 'Terminate',
    cites: ['exec-server.terminate.unknown'],
    run: inEach(async (client) => {
      await client.run('p', 'exit 0');
      expectEqual(await client.terminate('p'), { running: false }, 'the result of process/terminate');
    }),
  },
  {
    id: 'exec-server.terminate.all-of-it',
    title: 'process/terminate ends what the process started, too',
    level: 'RECOMMENDED',
    reason: 'a command is mostly a shell and what it started; ending the shell alone leaves the work running unseen',
    group: 'Terminate',
    cites: ['exec-server.terminate.ends'],
    run: inEach(async (client, session) => {
      const file = await sharedFile(client, session);
      await client.start('p', `(${heartbeat(file)}) & wait`);
      await beats(client, file);
      await client.terminate('p');
      await falls(client, file, 'the child of the process');
    }),
  },
  {
    id: 'exec-server.terminate.keeps-output',
    title: 'What a process wrote before it was ended can be read afterwards',
    level: 'RECOMMENDED',
    reason: 'the output of a command that hangs is what tells why',
    group: 'Terminate',
    cites: ['exec-server.read.retained'],
    run: inEach(async (client) => {
      await client.start('p', `echo before; exec ${FOREVER}`);
      await client.shows('p', 'before');
      await client.terminate('p');
      await client.finished('p');
      const read = await client.read('p');
      expectEqual([textOf(read), read['exited']], ['before\n', true], 'what is read, and exited');
    }),
  },
  {
    id: 'exec-server.end.disconnect',
    title: 'The end of a connection ends its processes',
    level: 'MUST',
    group: 'End',
    cites: ['exec-server.lifecycle.close-terminates'],
    run: inFirst(async (client, session) => {
      const file = await sharedFile(client, session);
      await client.start('p', heartbeat(file));
      await beats(client, file);
      client.peer.end();
      await falls(await session.open(client.dialect), file, 'the process of the connection that was closed');
    }),
  },
  {
    id: 'exec-server.end.others-live',
    title: 'The end of a connection ends no process of another one',
    level: 'MUST',
    group: 'End',
    cites: ['exec-server.lifecycle.close-terminates'],
    run: inEach(async (client, session) => {
      needs(session, 'websocket');
      await client.start('p', 'echo up; read line; exit 4', { tty: true });
      await client.shows('p', 'up');
      const other = await session.open(client.dialect);
      await other.start('p', `exec ${FOREVER}`);
      other.peer.end();
      await other.peer.ended('the end of the other connection');
      await client.writes('p', '\n');
      expectEqual(await client.exited('p'), 4, 'the exit code of the process that is left');
    }),
  },
  {
    id: 'exec-server.end.private',
    title: 'A connection cannot read, write or end the processes of another one',
    level: 'RECOMMENDED',
    reason: 'ids are unique for a connection only, and two clients of one server need not trust each other',
    group: 'End',
    cites: ['exec-server.start.unique-id'],
    run: inEach(async (client, session) => {
      await client.start('mine', 'echo secret; read line; exit 4', { tty: true });
      await client.shows('mine', 'secret');
      const other = await session.open(client.dialect);
      await other.refusal('process/read', { processId: 'mine', afterSeq: 0 }, 'the read to be refused');
      await other.cannotWrite('mine', 'unknownProcess');
      expectEqual(await other.terminate('mine'), { running: false }, 'the result of process/terminate');
      await client.writes('mine', '\n');
      expectEqual(await client.exited('mine'), 4, 'the exit code of the process');
    }),
  },
  {
    id: 'exec-server.end.input',
    title: 'A server on stdio exits with code 0 when its input ends, and ends its processes',
    level: 'RECOMMENDED',
    reason: 'whoever started it closes its input or dies; a server that stays would stay for ever',
    group: 'End',
    cites: ['exec-server.lifecycle.close-terminates'],
    run: inEach(async (client, session) => {
      needs(session, 'stdio');
      await client.start('p', `echo up; exec ${FOREVER}`);
      await client.shows('p', 'up');
      client.peer.end();
      const { exitCode } = await client.peer.ended('the end of the server');
      expectEqual(exitCode, 0, 'the exit code of the server');
    }),
  },
];
