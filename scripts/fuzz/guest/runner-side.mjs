// The built runner under test: `sallyport runner` on standard input and output, and `WS /guest` of `sallyport serve`.

import { startCommand, stopCommand } from '../../lib/serve.mjs';
import { HANG_MS, hold } from '../oracles.mjs';
import { play } from '../session.mjs';
import { LineWire, SocketWire } from '../wire.mjs';
import { RunnerModel } from './runner-model.mjs';

const PROBE = [{ send: { type: 'execute', id: 'probe', code: '40 + 2' } }, { wait: 'done', count: 1 }];

/** Plays sessions on sockets of one server. */
export function socketRunner(server) {
  const connect = () => SocketWire.open(`${server.socketUrl}/guest`);
  return async (steps) => {
    const wire = await connect();
    let outcome;
    try {
      await play(wire, steps, new RunnerModel('socket'));
      outcome = wire.closed ? 'closed' : 'answered';
    } finally {
      wire.destroy();
    }
    const next = await connect();
    await probe(next);
    next.destroy();
    return outcome;
  };
}

/** Plays sessions on one runner after another: each is used until a session ends it. */
export function lineRunner() {
  let idle;
  const start = () => {
    const command = startCommand(['runner']);
    return { command, wire: new LineWire(command) };
  };
  const run = async (steps) => {
    const { command, wire } = idle ?? start();
    idle = undefined;
    // What earlier sessions said on this wire is not for this one.
    wire.received.length = 0;
    const model = new RunnerModel('lines');
    await play(wire, steps, model);
    if (!wire.closed && model.left === undefined) {
      await probe(wire);
      idle = { command, wire };
      return 'answered';
    }
    checkEnd(await command.exit, command.said, model);
    return 'closed';
  };
  const close = async () => {
    if (idle !== undefined) await stopCommand(idle.command);
  };
  return { run, close };
}

function checkEnd({ code, signal }, { stderr }, model) {
  if (model.left === 'destroy') return;
  hold(signal === null && (code === 0 || code === 1), `the runner ended with ${code ?? signal}: ${stderr.slice(-500)}`);
  const said = stderr.trim();
  hold(said === '' || /^sallyport runner: [^\n]*$/.test(said), `the runner said: ${said.slice(-1_000)}`);
  hold(code === 0 || said !== '', 'the runner ended with 1 and did not say why');
}

async function probe(wire) {
  const model = new RunnerModel(wire.kind);
  wire.received.length = 0;
  await play(wire, PROBE, model, HANG_MS);
  const done = wire.received.at(-1);
  hold(done?.id === 'probe' && done.result === 42, `the next session got ${JSON.stringify(done)?.slice(0, 300)}`);
}
