import { closeSync } from 'node:fs';
import { SallyportError } from '../../errors/index.js';
import { ROOM_MARK } from '../guardian.js';
import type { Availability, Invocation, IsolationLevel } from '../level.js';
import { argvFor } from '../rename-program.js';
import type { Command } from '../request.js';
import { spawnFailed } from '../resolve-program.js';
import { ControlGroup, findGroupHome, type GroupHome } from './control-groups.js';
import { type Enforcement, enforcement } from './enforcement.js';
import { HandleList, namelessFile } from './handles.js';
import { BUBBLEWRAP_ARGUMENTS_MAX } from './limits.js';
import { GUEST_POLICY } from './policies.js';
import { checkPolicy, narrow, type Policy, policyInvalid } from './policy.js';
import type { ProxyDecision } from './proxy/gate.js';
import { type ForwardProxy, openProxy } from './proxy/proxy.js';
import { relayPrefix, relayVariables } from './proxy/relay.js';
import { effectiveLimits, rlimitPrefix } from './rlimits.js';
import { PROXY_SOCKET, RoomPlan } from './room-arguments.js';
import { type Machine as FilterMachine, MACHINES } from './seccomp/machines.js';
import { shellLimits, shellSetsLimits } from './shell-limits.js';
import { SystemView } from './system-view.js';
import { findTools, type Tools } from './tools.js';
import { tryRoom } from './try-room.js';
import { Visibility } from './visible.js';

export interface ContainerOptions {
  /** What is granted, to every command or by the command. A request's own `policy` can only narrow it. */
  readonly policy: Policy | ((command: Command) => Policy);
  /** Hears of every connection that the proxy allowed or refused. */
  readonly onDecision?: (decision: ProxyDecision) => void;
  /** Where control groups are made; found out unless told otherwise. */
  readonly groups?: GroupHome;
}

/** The level `container`, which can also say how its limits hold here. */
export interface ContainerLevel extends IsolationLevel {
  enforcement(): Enforcement;
  /** The same level with another policy. What was found out about the machine is not found out again. */
  withPolicy(options: Pick<ContainerOptions, 'policy' | 'onDecision'>): ContainerLevel;
}

/** What is found out once, when it is first needed. */
interface Workshop {
  readonly tools: Tools;
  readonly view: SystemView;
  readonly plan: RoomPlan;
  /** Whether the shell can set limits. */
  readonly shellLimited: boolean;
}

function openWorkshop(): Workshop | string {
  if (process.platform !== 'linux') return 'namespaces need Linux';
  const machine = MACHINES.get(process.arch);
  if (machine === undefined) return `there is no system-call filter for ${process.arch}`;
  const found = findTools();
  if (!found.ok) return found.reason;
  const { tools } = found;
  shared ??= sharedRooms(machine);
  return { ...shared, tools, shellLimited: shellSetsLimits(tools.sh) };
}

/** One for all levels of this process: the plan holds open files, which no level could give back. */
let shared: Pick<Workshop, 'view' | 'plan'> | undefined;

function sharedRooms(machine: FilterMachine): Pick<Workshop, 'view' | 'plan'> {
  const view = new SystemView();
  return { view, plan: new RoomPlan(view, machine) };
}

/** What was found out about this machine, shared by levels that differ in their policy alone. */
class Machine {
  readonly #given: GroupHome | undefined;
  #workshop: Workshop | string | undefined;
  #home: GroupHome | undefined;
  #availability: Promise<Availability> | undefined;

  constructor(groups: GroupHome | undefined) {
    this.#given = groups;
  }

  get workshop(): Workshop | string {
    this.#workshop ??= openWorkshop();
    return this.#workshop;
  }

  get groups(): GroupHome {
    this.#home ??= this.#given ?? findGroupHome();
    return this.#home;
  }

  /** Runs the trial once, whoever asks. */
  availability(trial: () => Promise<Availability>): Promise<Availability> {
    this.#availability ??= trial();
    return this.#availability;
  }
}

/** Writes itself into every group named before `--`, and becomes what comes after. Fails rather than run outside of one. */
const ENTER_GROUPS = 'while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done; shift';

function enter(sh: string, group: ControlGroup, limits: string | undefined): string[] {
  const script = `${ENTER_GROUPS}; ${limits === undefined ? '' : `${limits} || exit 125; `}exec "$@"`;
  return [sh, '-c', script, 'sh', ...group.entrances, '--'];
}

/** What one room holds besides its processes. */
interface Furniture {
  readonly handles: HandleList;
  readonly proxy: ForwardProxy | undefined;
  readonly group: ControlGroup | undefined;
}

class BubblewrapLevel implements ContainerLevel {
  readonly name = 'container';
  readonly #options: ContainerOptions;
  readonly #machine: Machine;

  constructor(options: ContainerOptions, machine: Machine) {
    if (typeof options.policy !== 'function') checkPolicy(options.policy);
    this.#options = options;
    this.#machine = machine;
  }

  withPolicy(options: Pick<ContainerOptions, 'policy' | 'onDecision'>): ContainerLevel {
    return new BubblewrapLevel(options, this.#machine);
  }

  get #groups(): GroupHome {
    return this.#machine.groups;
  }

  probe(): Promise<Availability> {
    return this.#machine.availability(() => this.#try());
  }

  async #try(): Promise<Availability> {
    const { workshop } = this.#machine;
    if (typeof workshop === 'string') return { available: false, reason: workshop };
    const env = new Map([['PATH', '/usr/bin:/bin']]);
    const stdio = { kind: 'pipes', stdin: 'null' } as const;
    const nothing = { arg0: undefined, policy: undefined, onNetworkDecision: undefined } as const;
    const command = { ...nothing, argv: ['true'], env, cwd: '/', limits: {}, stdio } as const;
    const invocation = await this.#furnish(command, GUEST_POLICY, workshop);
    try {
      return await tryRoom(invocation);
    } finally {
      for (const handle of invocation.handles ?? []) closeSync(handle);
      await invocation.dispose?.();
    }
  }

  enforcement(): Enforcement {
    return enforcement(this.#groups);
  }

  async wrap(command: Command): Promise<Invocation> {
    const { workshop } = this.#machine;
    if (typeof workshop === 'string') {
      throw new SallyportError('SPAWN_LEVEL_UNAVAILABLE', workshop, { level: this.name });
    }
    const { policy } = this.#options;
    const granted = typeof policy === 'function' ? policy(command) : policy;
    if (typeof policy === 'function') checkPolicy(granted);
    const narrowed = command.policy === undefined ? granted : narrow(granted, command.policy);
    return this.#furnish(command, narrowed, workshop);
  }

  /** Sets up all that a room needs, or nothing. */
  async #furnish(command: Command, policy: Policy, workshop: Workshop): Promise<Invocation> {
    const { network } = policy;
    const limits = effectiveLimits(policy.limits, command.limits);
    const first = command.stdio.kind === 'pipes' ? 3 + (command.stdio.extraPipes ?? 0) : 3;
    const proxied = network.kind === 'allow' || network.kind === 'full';
    if (proxied && workshop.tools.perl === undefined) {
      throw policyInvalid('network.kind', `is ${network.kind}, and its relay needs \`perl\`, which is not here`);
    }
    const handles = new HandleList(first);
    const decided = (decision: ProxyDecision): void => {
      command.onNetworkDecision?.(decision);
      this.#options.onDecision?.(decision);
    };
    const proxy = proxied ? await openProxy(network, decided) : undefined;
    let group: ControlGroup | undefined;
    const dispose = async (): Promise<void> => {
      await proxy?.close();
      await group?.dispose();
    };
    try {
      group = ControlGroup.create(this.#groups, limits);
      return { ...this.#assemble(command, { ...policy, limits }, workshop, { handles, proxy, group }), dispose };
    } catch (error) {
      handles.close();
      await dispose();
      throw error;
    }
  }

  #assemble(command: Command, policy: Policy, workshop: Workshop, furniture: Furniture): Invocation {
    const { tools, view, plan, shellLimited } = workshop;
    const { handles, proxy, group } = furniture;
    const { env, cwd } = command;
    const [program, ...args] = command.argv;
    const visibility = new Visibility(view.roots, policy.filesystem);
    visibility.checkFolder(cwd);
    const file = visibility.program(command);
    const terminal = command.stdio.kind === 'terminal';
    const room = plan.arguments({
      policy,
      handles,
      env: proxy === undefined ? env : new Map([...env, ...relayVariables(proxy.hosts)]),
      cwd,
      session: terminal ? 'of the terminal' : 'own',
      proxySocket: proxy?.socket,
    });
    const { addressSpaceBytes } = command.limits;
    const limits = { ...policy.limits, ...(addressSpaceBytes === undefined ? {} : { addressSpaceBytes }) };
    const enforced = new Set<string>(this.#groups.folders.keys());
    const early = group === undefined || !shellLimited ? undefined : shellLimits(limits, enforced);
    const inner = [
      ...(proxy === undefined || tools.perl === undefined ? [] : relayPrefix(tools.perl, PROXY_SOCKET)),
      ...(early === undefined ? rlimitPrefix(tools.prlimit, limits, this.#groups) : []),
      ...(terminal ? [tools.setsid, '-c'] : []),
      ...argvFor({ file, argv0: command.arg0 ?? program, args, env, cwd }),
    ];
    if (room.length + inner.length > BUBBLEWRAP_ARGUMENTS_MAX) throw spawnFailed(JSON.stringify(program), 'E2BIG');
    // Variables may be secrets, and the arguments of a process are for everybody to see.
    const list = namelessFile(Buffer.from(room.map((argument) => `${argument}\0`).join('')));
    // The mark does nothing but stand there, where the guardian finds it.
    const bwrap = [tools.bwrap, '--unsetenv', ROOM_MARK, '--args', handles.add(list), '--', ...inner];
    const outer = group === undefined ? bwrap : [...enter(tools.sh, group, early), ...bwrap];
    const [outerFile = tools.bwrap, ...outerArgs] = outer;
    return {
      file: outerFile,
      argv0: outerFile,
      args: outerArgs,
      // What runs outside must not see variables of the request: LD_PRELOAD would be the command's code out here.
      env: new Map(),
      cwd: '/',
      handles: handles.handles,
      leader: 'supervisor',
      controllingTerminal: 'level',
      ...(group === undefined ? {} : { inspect: ({ exitCode }) => group.inspect(exitCode) }),
    };
  }
}

/** Makes the level `container`: a room of its own, made with bubblewrap, with what a policy puts into it. */
export function containerLevel(options: ContainerOptions): ContainerLevel {
  return new BubblewrapLevel(options, new Machine(options.groups));
}
