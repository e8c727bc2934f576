import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { groupsFinding } from './cgroups.js';
import { containerLevel } from './container/container-level.js';
import { findGroupHome } from './container/control-groups.js';
import { GUEST_POLICY } from './container/policies.js';
import { PROBE_TIMEOUT_MS } from './limits.js';
import { nativeTerminal } from './native-terminal.js';
import { processLevel } from './process-level.js';
import { findSystemTool } from './resolve-program.js';

/** One thing that this machine has or lacks. */
export interface Finding {
  readonly ok: boolean;
  /** A version or a location when it is there, the reason when it is not. */
  readonly detail: string;
}

/** What this machine offers to confine children with. */
export interface MachineReport {
  readonly processLevel: Finding;
  readonly containerLevel: Finding;
  readonly limits: Finding;
  readonly terminal: Finding;
  readonly bubblewrap: Finding;
  readonly userNamespaces: Finding;
  readonly cgroups: Finding;
  readonly prlimit: Finding;
  readonly wasmtime: Finding;
  readonly wazero: Finding;
}

interface Answer {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

const yes = (detail: string): Finding => ({ ok: true, detail });
const no = (detail: string): Finding => ({ ok: false, detail });

/** Asks a program, without a shell and with an empty environment. */
function ask(file: string, args: readonly string[]): Promise<Answer> {
  const options = { env: {}, cwd: '/', timeout: PROBE_TIMEOUT_MS, encoding: 'utf8' } as const;
  return new Promise((resolve) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      const reason = stderr.trim() === '' && error !== null ? error.message : stderr.trim();
      resolve({ ok: error === null, stdout: stdout.trim(), stderr: reason });
    });
  });
}

/** Tries a whole room, and says how the limits in it hold. */
async function probeContainerLevel(): Promise<{ readonly room: Finding; readonly limits: Finding }> {
  const level = containerLevel({ policy: GUEST_POLICY });
  const answer = await level.probe();
  if (!answer.available) return { room: no(answer.reason), limits: no('the level container is not available') };
  const holds = Object.entries(level.enforcement());
  const list = holds.map(([limit, hold]) => `${limit}: ${hold}`).join(', ');
  const hard = level.enforcement().memoryBytes === 'whole tree' && level.enforcement().processes === 'whole tree';
  const relay = findSystemTool('perl') === undefined ? '; no allow-lists of hosts: `perl` is not here' : '';
  return { room: yes(`namespaces, a system-call filter, limits${relay}`), limits: hard ? yes(list) : no(list) };
}

async function probeProcessLevel(): Promise<Finding> {
  const answer = await processLevel.probe();
  if (!answer.available) return no(answer.reason);
  return existsSync('/bin/sh') ? yes('a session of its own, an environment of its own') : no('there is no /bin/sh');
}

function probeTerminal(): Finding {
  if (findSystemTool('setsid') === undefined) return no('`setsid` (util-linux or busybox) is not here');
  try {
    nativeTerminal();
    return yes(`@lydell/node-pty for ${process.platform}-${process.arch}`);
  } catch (error) {
    return no(error instanceof Error ? error.message : String(error));
  }
}

async function probeBubblewrap(): Promise<Finding> {
  const bwrap = findSystemTool('bwrap');
  if (bwrap === undefined) return no('`bwrap` is not here');
  const { stdout: version } = await ask(bwrap, ['--version']);
  const program = findSystemTool('true');
  if (program === undefined) return no(`${version}: there is no \`true\` to try it with`);
  // Being installed proves nothing: many containers and some distributions forbid what it needs.
  const confinement = ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];
  const tried = await ask(bwrap, [...confinement, '--', program]);
  return tried.ok ? yes(version) : no(`${version} does not work here: ${tried.stderr}`);
}

function readNumber(path: string): number | undefined {
  try {
    return Number(readFileSync(path, 'latin1'));
  } catch {
    return undefined;
  }
}

async function probeUserNamespaces(): Promise<Finding> {
  if (!existsSync('/proc/self/ns/user')) return no('the kernel has none');
  if (readNumber('/proc/sys/user/max_user_namespaces') === 0) return no('user.max_user_namespaces is 0');
  if (readNumber('/proc/sys/kernel/unprivileged_userns_clone') === 0)
    return no('kernel.unprivileged_userns_clone is 0');
  const unshare = findSystemTool('unshare');
  const program = findSystemTool('true');
  if (unshare === undefined || program === undefined) return no('not tried: `unshare` (util-linux) is not here');
  const tried = await ask(unshare, ['--user', '--map-root-user', program]);
  return tried.ok ? yes('can be made') : no(tried.stderr);
}

function probePrlimit(): Finding {
  const tool = findSystemTool('prlimit');
  return tool === undefined ? no('`prlimit` (util-linux) is not here') : yes(tool);
}

async function probeRuntime(name: string, args: readonly string[]): Promise<Finding> {
  const file = findSystemTool(name);
  if (file === undefined) return no('not on PATH');
  const answer = await ask(file, args);
  return answer.ok ? yes(`${answer.stdout} (${file})`) : no(`${file}: ${answer.stderr}`);
}

/** Finds out what this machine offers, by trying it. */
export async function probeMachine(): Promise<MachineReport> {
  const [level, container, bubblewrap, userNamespaces, wasmtime, wazero] = await Promise.all([
    probeProcessLevel(),
    probeContainerLevel(),
    probeBubblewrap(),
    probeUserNamespaces(),
    probeRuntime('wasmtime', ['--version']),
    probeRuntime('wazero', ['version']),
  ]);
  return {
    processLevel: level,
    containerLevel: container.room,
    limits: container.limits,
    terminal: probeTerminal(),
    bubblewrap,
    userNamespaces,
    cgroups: groupsFinding(findGroupHome()),
    prlimit: probePrlimit(),
    wasmtime,
    wazero,
  };
}
