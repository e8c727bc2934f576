// Makes sure that the system packages the tests need are there. As root on Debian it installs them; elsewhere it says
// what is missing and how to get it, and fails.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What is needed: the command that proves it is there, and the Debian package that brings it. */
const NEEDED = [{ command: 'bwrap', package: 'bubblewrap', why: 'confinement' }];

function onPath(command) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const missing = NEEDED.filter((need) => !onPath(need.command));
if (missing.length === 0) process.exit(0);

const names = missing.map((need) => need.package);
const install = `apt-get install -y --no-install-recommends ${names.join(' ')}`;
if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) {
  console.error('Missing system packages:');
  for (const need of missing)
    console.error(`  ${need.package} (for ${need.why}; looked for \`${need.command}\` on PATH)`);
  console.error(`On Debian or Ubuntu: sudo apt-get update && sudo ${install}`);
  process.exit(1);
}

const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
for (const command of ['apt-get update', install]) {
  console.log(`setup: ${command}`);
  const [program, ...args] = command.split(' ');
  const done = spawnSync(program, args, { env, encoding: 'utf8' });
  if (done.status !== 0) {
    console.error(done.stdout ?? '', done.stderr ?? '', done.error?.message ?? '');
    console.error(`setup: \`${command}\` failed`);
    process.exit(1);
  }
}
const still = missing.filter((need) => !onPath(need.command));
if (still.length > 0) {
  console.error(`setup: still not on PATH after the install: ${still.map((need) => need.command).join(', ')}`);
  process.exit(1);
}
console.log(`setup: installed ${names.join(', ')}`);
