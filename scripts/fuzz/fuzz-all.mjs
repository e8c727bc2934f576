// Several targets, each in a process of its own, a few at a time.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const FUZZ = fileURLToPath(new URL('../fuzz.mjs', import.meta.url));

/** Runs them and prints what each said when it is done. Returns the exit code. */
export async function fuzzAll(targets, args, jobs) {
  const waiting = [...targets];
  let failed = 0;
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const { code, text } = await run(['--target', name, ...args]);
      console.log(text.trimEnd());
      if (code !== 0) failed += 1;
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, jobs) }, work));
  console.log(`${targets.length - failed} of ${targets.length} targets without a finding`);
  return failed === 0 ? 0 : 1;
}

function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [FUZZ, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
    }
    child.once('close', (code) => resolve({ code, text }));
  });
}
