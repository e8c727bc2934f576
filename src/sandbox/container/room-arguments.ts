import { grantArguments } from './grants.js';
import { type HandleList, SharedContent } from './handles.js';
import { DEFAULT_TMP_BYTES, INNER_ID, SHARED_MEMORY_BYTES } from './limits.js';
import { beneath } from './paths.js';
import type { Policy } from './policy.js';
import { type SocketFamilies, seccompFilter } from './seccomp/filter.js';
import type { Machine } from './seccomp/machines.js';
import type { SystemView } from './system-view.js';

/** Where the socket of the proxy is inside. */
export const PROXY_SOCKET = '/run/sallyport/proxy';

/** Accounts and hosts as a confined program finds them: itself, nobody, and its own loopback. */
const ETC_FILES: readonly (readonly [path: string, content: string])[] = [
  [
    '/etc/passwd',
    `sandbox:x:${INNER_ID}:${INNER_ID}:sandbox:/home:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n`,
  ],
  ['/etc/group', `sandbox:x:${INNER_ID}:\nnogroup:x:65534:\n`],
  ['/etc/hosts', '127.0.0.1 localhost sandbox\n::1 localhost\n'],
];

function grantsBelow({ filesystem }: Policy, folder: string): boolean {
  return [...filesystem.read, ...filesystem.write].some((path) => beneath(path, folder));
}

/** What all rooms on this machine have in common. */
export class RoomPlan {
  readonly #view: SystemView;
  readonly #filters: Readonly<Record<SocketFamilies, SharedContent>>;
  readonly #etc: readonly { readonly path: string; readonly file: SharedContent }[];

  constructor(view: SystemView, machine: Machine) {
    this.#view = view;
    this.#filters = {
      unix: new SharedContent(seccompFilter(machine, 'unix')),
      internet: new SharedContent(seccompFilter(machine, 'internet')),
    };
    this.#etc = ETC_FILES.map(([path, content]) => ({ path, file: new SharedContent(content) }));
  }

  /**
   * The arguments of bubblewrap for one room. Later mounts cover earlier ones, so the order is the policy: the system,
   * the private folders, what is granted, and last the lid.
   */
  arguments(room: {
    readonly policy: Policy;
    readonly handles: HandleList;
    readonly env: ReadonlyMap<string, string>;
    readonly cwd: string;
    readonly session: 'own' | 'of the terminal';
    readonly proxySocket: string | undefined;
  }): string[] {
    const { policy, handles, proxySocket } = room;
    const { network, limits } = policy;
    const size = String(limits.tmpBytes ?? DEFAULT_TMP_BYTES);
    const families = network.kind === 'none' ? 'unix' : 'internet';
    return [
      ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
      ...(network.kind === 'host' ? ['--ro-bind-try', '/etc/resolv.conf', '/etc/resolv.conf'] : ['--unshare-net']),
      ...['--uid', String(INNER_ID), '--gid', String(INNER_ID), '--hostname', 'sandbox'],
      ...['--cap-drop', 'ALL', '--die-with-parent'],
      // A terminal's session is made by setsid inside, which can also take the terminal; this could only give it up.
      ...(room.session === 'own' ? ['--new-session'] : []),
      ...this.#view.arguments(handles),
      ...this.#etc.flatMap(({ path, file }) => ['--perms', '0444', '--file', handles.add(file.open()), path]),
      ...['--proc', '/proc', ...this.#view.kernelArguments],
      ...['--dev', '/dev', '--perms', '1777', '--size', String(SHARED_MEMORY_BYTES), '--tmpfs', '/dev/shm'],
      ...['--remount-ro', '/dev'],
      ...['--perms', '1777', '--size', size, '--tmpfs', '/tmp', '--size', size, '--tmpfs', '/home'],
      ...['--dir', '/run', '--dir', '/var'],
      // Nothing can be mounted below a link.
      ...(grantsBelow(policy, '/var/tmp')
        ? ['--perms', '1777', '--size', size, '--tmpfs', '/var/tmp']
        : ['--symlink', '/tmp', '/var/tmp']),
      ...grantArguments(policy.filesystem, handles),
      ...(proxySocket === undefined ? [] : ['--ro-bind', proxySocket, PROXY_SOCKET]),
      ...['--remount-ro', '/', '--chdir', room.cwd],
      ...[...room.env].flatMap(([name, value]) => ['--setenv', name, value]),
      ...['--seccomp', handles.add(this.#filters[families].open())],
    ];
  }
}
