import { findSystemTool } from '../resolve-program.js';

/** The programs that make and fill the room. */
export interface Tools {
  readonly bwrap: string;
  readonly prlimit: string;
  readonly sh: string;
  readonly setsid: string;
  /** Only the relay to the proxy needs it. */
  readonly perl: string | undefined;
}

const PACKAGES = { bwrap: 'bubblewrap', prlimit: 'util-linux', setsid: 'util-linux', sh: 'dash' } as const;

/** Finds the tools, or says which one is not here and what brings it. */
export function findTools(
  find: (name: string) => string | undefined = findSystemTool,
): { readonly ok: true; readonly tools: Tools } | { readonly ok: false; readonly reason: string } {
  const bwrap = find('bwrap');
  const prlimit = find('prlimit');
  const setsid = find('setsid');
  const sh = find('sh');
  if (bwrap !== undefined && prlimit !== undefined && setsid !== undefined && sh !== undefined) {
    return { ok: true, tools: { bwrap, prlimit, setsid, sh, perl: find('perl') } };
  }
  const missing = Object.entries({ bwrap, prlimit, setsid, sh }).flatMap(([name, path]) =>
    path === undefined ? [name] : [],
  );
  const packages = new Set(Object.entries(PACKAGES).flatMap(([name, pack]) => (missing.includes(name) ? [pack] : [])));
  const list = missing.map((name) => `\`${name}\``).join(', ');
  return { ok: false, reason: `${list} is not here: apt-get install ${[...packages].join(' ')}` };
}
