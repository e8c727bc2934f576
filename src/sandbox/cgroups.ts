import type { GroupHome } from './container/control-groups.js';
import type { Finding } from './probe.js';

/** The controllers that limits of whole trees need. */
const CONTROLLERS = ['memory', 'pids'] as const;

/** Says whether control groups can be made here, by what rooms themselves found out. */
export function groupsFinding(home: GroupHome): Finding {
  const usable = CONTROLLERS.filter((name) => home.folders.has(name));
  const list = (names: readonly (typeof CONTROLLERS)[number][], details: ReadonlyMap<string, string>): string =>
    names.map((name) => `${name} at ${details.get(name)}`).join(', ');
  if (usable.length === CONTROLLERS.length) {
    return { ok: true, detail: `version ${home.version}, writable: ${list(usable, home.folders)}` };
  }
  const lacking = CONTROLLERS.filter((name) => !home.folders.has(name));
  return { ok: false, detail: `version ${home.version}, lacking: ${list(lacking, home.lacking)}` };
}
