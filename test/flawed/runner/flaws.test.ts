import { fileURLToPath } from 'node:url';
import { describeFlaws } from '../harness.js';

const PROGRAM = fileURLToPath(new URL('./program.mjs', import.meta.url));

describeFlaws({
  suite: 'runner',
  start: (flaw) => ({
    target: { kind: 'command', argv: [process.execPath, PROGRAM, '--flaw', flaw ?? 'none'] },
  }),
  limitMs: 2_000,
  flaws: [
    { name: 'no-started', caughtBy: ['runner.session.started-first'] },
    {
      name: 'wrong-id',
      caughtBy: ['runner.session.done-with-id'],
      also: { 'runner.session.one-done': 'it waits for the done of its own id first' },
    },
    { name: 'two-dones', caughtBy: ['runner.session.one-done'] },
  ],
});
