import { expect, it, onTestFinished } from 'vitest';
import { createSpawner } from '../../src/sandbox/index.js';
import { SALLYPORT, sallyport } from './command.js';

const RED = 'String.fromCharCode(27) + "[31mred" + String.fromCharCode(10, 0x9b) + "2J"';

/** What a terminal is sent by a command that runs on it. */
async function onTerminal(script: string): Promise<string> {
  const spawner = createSpawner();
  onTestFinished(() => spawner.dispose());
  const child = await spawner.spawn({
    argv: ['/bin/sh', '-c', script, process.execPath, SALLYPORT],
    env: { PATH: process.env['PATH'] ?? '' },
    cwd: '/',
    stdio: { kind: 'terminal', rows: 40, cols: 200 },
    level: 'process',
  });
  let text = '';
  child.outputs[0]?.onData((chunk) => {
    text += chunk.toString();
  });
  await child.exited;
  await child.drained;
  return text;
}

it('the result of a program cannot command the terminal that it is shown on, and is piped as it is', async () => {
  const run = (flags: string): Promise<string> => onTerminal(`echo '${RED}' | "$0" "$1" run - ${flags}`);
  expect(await run('')).toBe('\\u001b[31mred\r\n\\u009b2J\r\n');
  expect(await run('--json')).not.toMatch(/[\u001b\u009b]/);
  expect((await sallyport(['run', '-'], { input: RED })).stdout).toBe('\u001b[31mred\n\u009b2J\n');
});
