import { existsSync, lstatSync, openSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf } from '../resolve-program.js';
import type { HandleList } from './handles.js';
import { beneath } from './paths.js';

/** Programs and libraries. On a merged system most of them are links into the first. */
const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** What programs expect of `/etc`: how to find programs, certificates and the time. No accounts, no keys. */
const ETC_FOLDERS = ['alternatives', 'localtime', 'os-release', 'pki/ca-trust', 'pki/tls/certs', 'ssl/certs'];

/** Small files there, which are copied: a mount costs more. */
const ETC_FILES = ['ld.so.cache', 'nsswitch.conf', 'protocols', 'services', 'ssl/cert.pem', 'ssl/openssl.cnf'];

/**
 * What root may read or change of the whole machine in any process table, without a capability. Whoever is root outside
 * still is to the kernel, whatever number it has inside. An ordinary user is kept out by the modes of these files.
 */
const KERNEL_FILES = [
  'kpagecgroup',
  'kpagecount',
  'kpageflags',
  'slabinfo',
  'sysrq-trigger',
  'timer_list',
  'vmallocinfo',
];
const KERNEL_FOLDERS = ['acpi', 'asound', 'fs', 'scsi', 'sys'];

/** What is mounted of the machine whatever the policy says. */
export class SystemView {
  /** The folders and files that are visible through it. */
  readonly roots: readonly string[];
  /** Arguments that cover what the process table shows of the kernel; they come after it is mounted. */
  readonly kernelArguments: readonly string[];
  readonly #mounts: readonly string[];
  readonly #files: readonly string[];

  constructor(user = process.getuid?.() ?? 0) {
    const mounted = [...SYSTEM_FOLDERS, ...inEtc(ETC_FOLDERS), ...nodePaths()].filter((path) => existsSync(path));
    this.#mounts = mounted.flatMap(mount);
    this.#files = inEtc(ETC_FILES).filter((path) => existsSync(path) && statSync(path).isFile());
    this.roots = [...mounted, ...this.#files];
    this.kernelArguments = user === 0 ? kernelCovers() : [];
  }

  /** The arguments that mount it, with the files as they are now. */
  arguments(handles: HandleList): string[] {
    const files = this.#files.flatMap((path) => ['--perms', '0444', '--file', handles.add(openSync(path, 'r')), path]);
    return ['--perms', '0755', '--dir', '/etc', '--perms', '0755', '--dir', '/etc/ssl', ...this.#mounts, ...files];
  }
}

const inEtc = (names: readonly string[]): string[] => names.map((name) => join('/etc', name));

function mount(path: string): string[] {
  // A link into what is mounted anyway stays one: programs read the time zone off the target of /etc/localtime.
  if (lstatSync(path).isSymbolicLink() && beneath(realpathSync(path), '/usr')) {
    return ['--symlink', readlinkSync(path), path];
  }
  return ['--ro-bind', path, path];
}

/** The program that runs us and, where it brings its own, the package manager beside it. */
function nodePaths(): string[] {
  const program = realpathSync(process.execPath);
  const modules = join(dirname(dirname(program)), 'lib', 'node_modules');
  return [program, modules].filter((path) => !beneath(path, '/usr'));
}

/** How deep a folder is searched for something that can be written to: they are shallow, but for `sys`, which is full of it. */
const SWITCH_DEPTH = 4;

/** Whether there is anything in a folder that its owner can write to. */
function hasSwitch(path: string, depth: number): boolean {
  try {
    return readdirSync(path, { withFileTypes: true }).some((entry) => {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) return depth === 0 || hasSwitch(inner, depth - 1);
      return entry.isFile() && (statSync(inner).mode & 0o222) !== 0;
    });
  } catch (error) {
    // What is not there needs no cover; what cannot be looked at gets one.
    return errnoOf(error) !== 'ENOENT';
  }
}

function kernelCovers(): string[] {
  const files = KERNEL_FILES.map((name) => join('/proc', name)).filter((path) => existsSync(path));
  const folders = KERNEL_FOLDERS.map((name) => join('/proc', name)).filter((path) => hasSwitch(path, SWITCH_DEPTH));
  return [
    ...folders.flatMap((path) => ['--ro-bind', path, path]),
    // Mounts have no devices inside, so these can be neither read nor written.
    ...files.flatMap((path) => ['--ro-bind', '/dev/null', path]),
  ];
}
