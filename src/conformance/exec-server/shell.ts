import { NotApplicable } from '../check.js';
import { expectThat } from '../expect.js';
import type { ExecClient } from './client.js';
import { AWAKE_STEPS, BEAT_S, FOREVER_S, MAX_BEATS, NO_BEAT_S } from './limits.js';
import type { ExecSession } from './session.js';

/** A command that runs until it is ended. */
export const FOREVER = `sleep ${FOREVER_S}`;

/** The same for a shell that hears signals meanwhile. */
export const AWAKE = `i=0; while [ $i -lt ${AWAKE_STEPS} ]; do i=$((i+1)); sleep ${FOREVER_S / AWAKE_STEPS}; done`;

/** Why signs of life cannot be seen. */
const NOT_SHARED = 'processes of the target share no folder that they can write to: give --folder';

/** Puts a text between quotes that a shell leaves alone. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A file for signs of life, in a folder of the check's own that processes share, and that goes with the check. */
export async function sharedFile(client: ExecClient, session: ExecSession): Promise<string> {
  const folder = session.ownFolder();
  const name = quote(folder);
  let seen = false;
  session.context.defer(async () => {
    if (seen) return;
    // The connections of the check may be closed by now.
    await (await session.open(client.dialect)).run('remove', `rm -rf ${name}`);
  });
  const { code } = await client.run('folder', `[ -d ${name} ] && exit 3; mkdir ${name}`);
  seen = code === 3;
  if (!seen && code !== 0) throw new NotApplicable(NOT_SHARED);
  return `${folder}/beats`;
}

/** A script that gives signs of life in a file until it is ended, or until the folder of the file is gone. */
export function heartbeat(file: string): string {
  const beat = `echo . 2>/dev/null >> ${quote(file)} || exit`;
  return `i=0; while [ $i -lt ${MAX_BEATS} ]; do ${beat}; i=$((i+1)); sleep ${BEAT_S}; done`;
}

/** Waits until a process that gives signs of life has begun to. */
export async function beats(client: ExecClient, file: string): Promise<void> {
  const script = `i=0; until [ -s ${quote(file)} ]; do i=$((i+1)); [ $i -gt 40 ] && exit 1; sleep ${BEAT_S}; done`;
  const { code } = await client.run('see', script);
  if (code !== 0) throw new NotApplicable(NOT_SHARED);
}

/** Waits until no more signs of life come, and fails when they do not end. */
export async function falls(client: ExecClient, file: string, who: string): Promise<void> {
  const name = quote(file);
  const look = `a=$(wc -c < ${name}); sleep ${NO_BEAT_S}; b=$(wc -c < ${name}); [ "$a" = "$b" ]`;
  const script = `[ -s ${name} ] || exit 2; i=0; until ${look}; do i=$((i+1)); [ $i -gt 8 ] && exit 1; done`;
  const { code } = await client.run('watch', script);
  if (code === 2) throw new NotApplicable(NOT_SHARED);
  expectThat(code === 0, `${who} to be ended`, 'it went on giving signs of life for three seconds');
}
