// Target: the execbox runner protocol, both sides. Sessions of a host play against the built `sallyport runner` and `WS /guest`;
// sessions of a runner play against our host.
//
// Oracles: see scripts/fuzz/guest/runner-model.mjs and host-side.mjs; besides, the server lives, says nothing on standard error,
// stays within its memory, and the next session works.
import { hostSession } from '../guest/grammar.mjs';
import { checkHost, hostCase } from '../guest/host-side.mjs';
import { lineRunner, socketRunner } from '../guest/runner-side.mjs';
import { serverUnderTest } from '../server-under-test.mjs';
import { mutateSession } from '../session.mjs';

export const lanes = 3;

export function generate(random) {
  const mode = random.pick(['host', 'host', 'socket', 'socket', 'socket', 'lines']);
  if (mode === 'host') return hostCase(random);
  return { mode, steps: mutateSession(random, hostSession(random)) };
}

export async function open() {
  const server = await serverUnderTest();
  const onSocket = socketRunner(server);
  const runners = [];
  const free = [];
  const check = async (input) => {
    if (input.mode === 'host') return checkHost(input);
    const frames = input.steps.length;
    if (input.mode === 'socket') {
      const outcome = await onSocket(input.steps);
      server.verify();
      return { frames, outcome: `socket: ${outcome}` };
    }
    const runner = free.pop() ?? lineRunner();
    if (!runners.includes(runner)) runners.push(runner);
    const outcome = await runner.run(input.steps);
    free.push(runner);
    return { frames, outcome: `lines: ${outcome}` };
  };
  const close = async () => {
    for (const runner of runners) await runner.close();
    return server.close();
  };
  return { check, close, checkMemory: () => server.checkMemory() };
}
