import type { StdioOptions } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';

const O_CLOEXEC = 0o2000000;

let strays: readonly number[] | undefined;
let nullHandle: number | undefined;
/** Handle to the note of whoever opened it last: the number may be in use again before its former owner takes its note back. */
const leaky = new Map<number, symbol>();

/** Lists the handles above standard error that every child would inherit because whoever started this process left them open. */
function strayHandles(): readonly number[] {
  const found: number[] = [];
  let names: string[] = [];
  try {
    names = readdirSync('/proc/self/fd');
  } catch {
    // No /proc: nothing can be known.
  }
  for (const name of names) {
    const handle = Number(name);
    if (handle < 3 || leaky.has(handle)) continue;
    try {
      const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${handle}`, 'latin1'))?.[1];
      if (flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0) found.push(handle);
    } catch {
      // Closed since the listing, such as the listing's own handle.
    }
  }
  return found;
}

/** Notes a handle that lacks close-on-exec. The returned function takes the note back, once the handle is closed. */
export function noteLeakyHandle(handle: number): () => void {
  const note = Symbol();
  leaky.set(handle, note);
  return () => {
    if (leaky.get(handle) === note) leaky.delete(handle);
  };
}

/**
 * Lays /dev/null over every handle that a child would inherit but must not see. Node opens all of its own with
 * close-on-exec; the exceptions are the masters of terminals and what this process itself was started with. Node cannot
 * set the flag later, but what is named in `stdio` replaces whatever bears that number in the child.
 */
export function sealStdio(stdio: Exclude<StdioOptions, string>): Exclude<StdioOptions, string> {
  strays ??= strayHandles();
  if (strays.length === 0 && leaky.size === 0) return stdio;
  nullHandle ??= openSync('/dev/null', 'r');
  const sealed = [...stdio];
  for (const handle of [...strays, ...leaky.keys()]) {
    if (handle < stdio.length) continue;
    while (sealed.length < handle) sealed.push('ignore');
    sealed[handle] = nullHandle;
  }
  return sealed;
}
