import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from './probe.js';
import { errnoOf } from './resolve-program.js';

/** The controllers that limits of whole trees need. */
const CONTROLLERS = ['memory', 'pids'] as const;

/** Why a group cannot be made below a folder and be moved into, as far as that shows without doing it. */
function obstacle(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK);
    accessSync(join(folder, 'cgroup.procs'), constants.W_OK);
    return undefined;
  } catch (error) {
    return errnoOf(error);
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Where this process is, by controller; the one of version 2 has an empty name. */
function ownGroups(text: string): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined) for (const name of (controllers ?? '').split(',')) groups.set(name, path);
  }
  return groups;
}

/** Looks whether control groups can be made here, in either version. */
export function probeCgroups(mount = '/sys/fs/cgroup', own = '/proc/self/cgroup'): Finding {
  if (!existsSync(mount)) return { ok: false, detail: 'not mounted' };
  const groups = ownGroups(read(own) ?? '');
  const unified = read(join(mount, 'cgroup.controllers'));
  const version = unified === undefined ? 1 : 2;
  const offered = unified?.trim().split(' ');
  const writable: string[] = [];
  const lacking: string[] = [];
  for (const name of CONTROLLERS) {
    if (offered !== undefined && !offered.includes(name)) {
      lacking.push(`${name} (not offered)`);
      continue;
    }
    const folder =
      offered === undefined ? join(mount, name, groups.get(name) ?? '/') : join(mount, groups.get('') ?? '/');
    const errno = obstacle(folder);
    if (errno === undefined) writable.push(`${name} at ${folder}`);
    else lacking.push(`${name} at ${folder} (${errno})`);
  }
  if (lacking.length === 0) return { ok: true, detail: `version ${version}, writable: ${writable.join(', ')}` };
  return { ok: false, detail: `version ${version}, lacking: ${lacking.join(', ')}` };
}
