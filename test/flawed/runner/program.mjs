// An execbox runner with switches: without one it does what the suite asks for, with `--flaw NAME` it makes one mistake.
import { createInterface } from 'node:readline';

const flaw = process.argv.at(process.argv.indexOf('--flaw') + 1);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { type, id, code } = JSON.parse(line);
  if (type === 'tool_result') return say({ type: 'done', id, ok: true, result: null, logs: [], durationMs: 1 });
  if (flaw !== 'no-started') say({ type: 'started', id });
  if (code.includes('tools')) {
    return say({ type: 'tool_call', callId: '1', providerName: 'tools', safeToolName: 'echo', input: 1 });
  }
  const done = { type: 'done', id: flaw === 'wrong-id' ? 'x' : id, ok: true, result: 2, logs: [], durationMs: 1 };
  say(done);
  if (flaw === 'two-dones') say(done);
});
