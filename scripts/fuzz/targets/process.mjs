// Target: the exec-server protocol, both dialects, against the built `sallyport exec-server` on standard input and output and on
// WebSocket. As root the servers run as nobody, because mutated commands run as whoever the server is.
//
// Oracles: see scripts/fuzz/process/server-model.mjs; besides, the server lives, complains of nothing but its clients, stays within
// its memory, and the next session works.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCommand } from '../../lib/serve.mjs';
import { HANG_MS, hold, withinLimit } from '../oracles.mjs';
import { clientSession } from '../process/grammar.mjs';
import { ServerModel } from '../process/server-model.mjs';
import { watchServer } from '../server-under-test.mjs';
import { mutateSession, play } from '../session.mjs';
import { LineWire, SocketWire } from '../wire.mjs';

export const lanes = 3;

const NOBODY = 65_534;
const SAID = /^(sallyport exec-server: [^\n]*\n)*$/;
const PROBE = [
  { send: { id: 1, method: 'initialize', params: { clientName: 'probe' } } },
  { send: { method: 'initialized' } },
  {
    send: {
      id: 2,
      method: 'process/start',
      params: {
        processId: 'p0',
        argv: ['echo', 'hello'],
        cwd: '@scratch@',
        env: { PATH: '/usr/bin:/bin', NAME: 'value' },
        tty: false,
        arg0: null,
      },
    },
  },
  { wait: 'process/exited', count: 1 },
];

export function generate(random) {
  return { mode: random.oneIn(4) ? 'lines' : 'socket', steps: mutateSession(random, clientSession(random)) };
}

export async function open() {
  const scratch = scratchFolder();
  const who = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const start = (args) => startCommand(['exec-server', ...args], who);
  const server = start(['--listen', 'ws://127.0.0.1:0']);
  const url = await withinLimit(listening(server), 'the server does not listen');
  const watched = watchServer(server);

  const onSocket = async (steps) => {
    const wire = await SocketWire.open(url);
    let outcome;
    try {
      await play(wire, steps, new ServerModel('socket', scratch));
      outcome = wire.closed ? 'closed' : 'answered';
    } finally {
      wire.destroy();
    }
    watched.verify();
    const next = await SocketWire.open(url);
    await probe(next, scratch);
    next.destroy();
    return outcome;
  };
  const onLines = async (steps) => {
    const own = start([]);
    const wire = new LineWire(own);
    const model = new ServerModel('lines', scratch);
    try {
      await play(wire, steps, model);
      const outcome = wire.closed ? 'closed' : 'answered';
      wire.end();
      const { code, signal } = await withinLimit(own.exit, 'the server does not end with its input');
      hold(
        model.left === 'destroy' || code === 0,
        `the server ended with ${code ?? signal}: ${own.said.stderr.slice(-500)}`,
      );
      hold(SAID.test(own.said.stderr), `the server said: ${own.said.stderr.slice(-1_000)}`);
      return outcome;
    } finally {
      wire.destroy();
    }
  };
  return {
    check: async ({ mode, steps }) => {
      const outcome = await (mode === 'lines' ? onLines(steps) : onSocket(steps));
      return { frames: steps.length, outcome: `${mode}: ${outcome}` };
    },
    checkMemory: () => watched.checkMemory(),
    close: async () => {
      const summary = await watched.end();
      rmSync(scratch, { recursive: true, force: true });
      return summary;
    },
  };
}

/** A folder with something to look at, for everybody. */
function scratchFolder() {
  const scratch = mkdtempSync(join(tmpdir(), 'sallyport-fuzz-'));
  writeFileSync(join(scratch, 'file'), 'a file of some bytes\n');
  mkdirSync(join(scratch, 'folder'));
  symlinkSync('folder', join(scratch, 'link'));
  chmodSync(scratch, 0o777);
  return scratch;
}

function listening({ child, said, exit }) {
  return new Promise((resolve, reject) => {
    child.stderr.on('data', () => {
      const url = /listening on (ws:\S+)/.exec(said.stderr)?.[1];
      if (url === undefined) return;
      resolve(url);
    });
    exit.then(() => reject(new Error(`the server ended: ${said.stderr}`)));
  });
}

async function probe(wire, scratch) {
  const model = new ServerModel(wire.kind, scratch);
  await play(wire, PROBE, model, HANG_MS);
  hold(model.count('process/exited') === 1, `the next session got ${JSON.stringify(wire.received).slice(0, 500)}`);
}
