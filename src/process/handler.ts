import { constants } from 'node:os';
import type { NetworkGate, PolicyRequest, SpawnedProcess, Spawner, TerminalSize } from '../sandbox/index.js';
import { type Clock, REAL_CLOCK } from '../wire/index.js';
import { applyEnvPolicy, type EnvPolicy } from './env-policy.js';
import { type EnvironmentInfo, environmentInfo } from './environment.js';
import { ExecError } from './exec-error.js';
import type { ExecPolicy } from './exec-policy.js';
import { FileSystem } from './fs/file-system.js';
import { HttpRequests, type NetworkPolicy } from './http-request.js';
import type { ProcessLimits } from './limits.js';
import { ManagedProcess, protocolExitCode, type ReadResult } from './managed-process.js';
import type { WriteStatus } from './messages.js';
import type { ExecObserver, ProcessWatcher } from './observer.js';
import type { SandboxRequest } from './sandbox-request.js';
import { narrowedTo, scopeWithin } from './sandbox-rules.js';
import type { Session } from './session.js';
import { SessionRegistry } from './session-registry.js';

export interface StartParams {
  readonly processId: string;
  readonly argv: readonly string[];
  /** An absolute native path. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly tty: boolean;
  readonly arg0?: string | undefined;
  readonly pipeStdin?: boolean | undefined;
  readonly envPolicy?: EnvPolicy | undefined;
  /** The first size of the terminal. */
  readonly size?: TerminalSize | undefined;
  readonly timeoutMs?: number | undefined;
  /** What the client's own description of a confinement asks for. */
  readonly sandbox?: SandboxRequest | undefined;
}

export interface ReadParams {
  readonly processId: string;
  readonly afterSeq?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly waitMs?: number | undefined;
}

export interface ProcessSummary {
  readonly processId: string;
  readonly pid: number;
  readonly argv: readonly string[];
  readonly tty: boolean;
  readonly running: boolean;
  readonly exitCode: number | null;
  readonly closed: boolean;
}

export interface HandlerOptions {
  readonly spawner: Spawner;
  /** The isolation level that every process runs at. */
  readonly level: string;
  readonly limits: ProcessLimits;
  readonly clock?: Clock | undefined;
  /** What `envPolicy` may inherit from. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly fileSystem: 'on' | 'off';
  readonly http: 'on' | 'off';
  /** Asked before a name is resolved for `http/request`. */
  readonly networkGate: NetworkGate | undefined;
  readonly networkPolicy: NetworkPolicy;
  /** What commands may reach; nothing where nothing confines them. */
  readonly policy: ExecPolicy | undefined;
  /** What happens when a client asks for a confinement that this server does not enforce. */
  readonly sandboxRequests: 'refuse' | 'ignore';
  readonly observer?: ExecObserver | undefined;
}

/** A terminal has this size unless the client names one: the protocol's figure. */
export const DEFAULT_SIZE: TerminalSize = { rows: 24, cols: 80 };

/**
 * Does what requests ask for: it starts, reads, writes, signals and ends processes of sessions. It knows no JSON, no
 * transport and no dialect beyond what a session carries, so it can be called directly.
 */
export class ExecHandler {
  readonly limits: ProcessLimits;
  readonly sessions: SessionRegistry;
  readonly #options: HandlerOptions;
  readonly #files: FileSystem;
  readonly #http: HttpRequests;

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.limits = options.limits;
    this.sessions = new SessionRegistry(options.limits, options.clock ?? REAL_CLOCK);
    this.#files = new FileSystem(options.limits, options.policy?.files);
    const { limits, networkGate: gate, networkPolicy: policy, observer } = options;
    this.#http = new HttpRequests({ limits, gate, policy, observer });
  }

  get fileSystem(): FileSystem {
    return this.files(undefined);
  }

  /** The files that a client may reach that describes a sandbox of its own. */
  files(sandbox: SandboxRequest | undefined): FileSystem {
    const { fileSystem, limits, policy } = this.#options;
    if (fileSystem === 'off') throw new ExecError('invalidRequest', 'file access is switched off here');
    const rules = this.#rules(sandbox);
    if (rules === undefined || policy === undefined) return this.#files;
    return new FileSystem(limits, scopeWithin(rules, policy.files));
  }

  get http(): HttpRequests {
    if (this.#options.http === 'off') throw new ExecError('invalidRequest', 'http/request is switched off here');
    return this.#http;
  }

  environmentInfo(): EnvironmentInfo {
    return environmentInfo(this.#options.environment);
  }

  /** The rules of a client's sandbox, where there are any to be followed. Refuses those that nobody would enforce. */
  #rules(sandbox: SandboxRequest | undefined): Extract<SandboxRequest, { kind: 'rules' }> | undefined {
    if (sandbox === undefined || sandbox.kind === 'nothing' || this.#options.sandboxRequests === 'ignore') return;
    if (sandbox.kind === 'unknown' || this.#options.policy === undefined) throw this.#sandboxRefused();
    return sandbox;
  }

  #sandboxRefused(): ExecError {
    const { level } = this.#options;
    return new ExecError(
      'invalidRequest',
      `sandbox is not enforced here as described: processes run at level ${level}; send null`,
    );
  }

  /** What of the policy of commands is left for one whose client describes a sandbox of its own. */
  #narrowed(sandbox: SandboxRequest | undefined, cwd: string): PolicyRequest | undefined {
    const rules = this.#rules(sandbox);
    const { policy } = this.#options;
    if (rules === undefined || policy === undefined) return undefined;
    const narrowed = narrowedTo(rules, policy.forCommand({ cwd }));
    if (narrowed === undefined) throw this.#sandboxRefused();
    return narrowed;
  }

  /** What the answer to a start says about confinement. Clients know only the name for none at all. */
  get sandboxType(): 'none' | null {
    return this.#options.level === 'process' ? 'none' : null;
  }

  /** Starts a process. Nothing of it is published before `begin()` of what is returned. */
  async start(session: Session, params: StartParams): Promise<ManagedProcess> {
    const { processId } = params;
    const { limits } = this;
    this.#rules(params.sandbox);
    if (session.processes.has(processId)) throw new ExecError('invalidRequest', `process ${processId} already exists`);
    if (params.argv.length === 0) throw new ExecError('invalidParams', 'argv must not be empty');
    if (session.openProcesses >= limits.processes) {
      throw new ExecError('invalidRequest', `too many processes: the limit is ${limits.processes}`);
    }
    let child: SpawnedProcess | undefined;
    const { argv, tty, timeoutMs } = params;
    let unwanted = false;
    const terminate = (): void => {
      unwanted = true;
      void child?.terminate();
    };
    const watcher = this.#options.observer?.process(session, { processId, argv, tty, timeoutMs, terminate });
    if (watcher !== undefined && 'refuse' in watcher) throw new ExecError('invalidRequest', watcher.refuse);
    session.processes.set(processId, 'starting');
    const process = await session.track(processId, this.#spawn(session, params, watcher));
    child = process.child;
    // It may have been ended while it was being started.
    if (unwanted) terminate();
    return process;
  }

  async #spawn(session: Session, params: StartParams, watcher: ProcessWatcher | undefined): Promise<ManagedProcess> {
    const { processId, argv, tty, arg0, envPolicy, timeoutMs } = params;
    const { spawner, level, environment, policy } = this.#options;
    try {
      // A room knows a folder by its real name alone.
      const cwd = policy === undefined ? params.cwd : policy.workingFolder(params.cwd);
      const narrowed = this.#narrowed(params.sandbox, cwd);
      const child = await spawner.spawn({
        argv,
        cwd,
        env: envPolicy === undefined ? params.env : applyEnvPolicy(envPolicy, environment, params.env),
        stdio: tty
          ? { kind: 'terminal', ...(params.size ?? DEFAULT_SIZE) }
          : { kind: 'pipes', stdin: params.pipeStdin ? 'pipe' : 'null' },
        level,
        ...(watcher === undefined ? {} : { onNetworkDecision: (decision) => watcher.connected(decision) }),
        ...(narrowed === undefined ? {} : { policy: narrowed }),
        ...(arg0 === undefined ? {} : { arg0 }),
        ...(timeoutMs === undefined ? {} : { limits: { timeoutMs } }),
      });
      const process = new ManagedProcess({
        processId,
        argv,
        tty,
        child,
        limits: this.limits,
        maxChunkBytes: session.maxChunkBytes,
        numbering: session.dialect === 'first' ? 'output' : 'all',
        publish: session.publish,
        onClosed: session.retire,
      });
      session.add(process);
      if (watcher !== undefined) {
        watcher.started(child.pid);
        void child.exited.then(({ exitCode, signal, timedOut }) =>
          watcher.ended({ exitCode: protocolExitCode(exitCode, signal), timedOut }),
        );
      }
      return process;
    } catch (error) {
      session.processes.delete(processId);
      watcher?.ended({ problem: error instanceof Error ? error.message : String(error) });
      throw error;
    }
  }

  /** Reads kept output. With `waitMs` it waits for some, or for the end. */
  async read(session: Session, params: ReadParams, signal: AbortSignal): Promise<ReadResult> {
    const process = await this.#known(session, params.processId);
    const { afterSeq = 0, maxBytes = Number.MAX_SAFE_INTEGER, waitMs = 0 } = params;
    if (waitMs > 0 && !process.hasNews(afterSeq)) {
      await this.#until(process, () => process.hasNews(afterSeq), waitMs, signal);
    }
    return process.read(afterSeq, maxBytes);
  }

  /** Waits for the end of a process, for as long as asked. */
  async wait(session: Session, processId: string, waitMs: number | undefined, signal: AbortSignal) {
    const process = await this.#known(session, processId);
    if (!process.exited) await this.#until(process, () => process.exited, waitMs ?? this.limits.waitMs, signal);
    const { exited, exitCode, timedOut } = process.read(0, 0);
    return { exited, exitCode, timedOut };
  }

  async write(session: Session, processId: string, bytes: Buffer, writeId: string | undefined): Promise<WriteStatus> {
    const process = session.processes.get(processId);
    if (process === undefined) return 'unknownProcess';
    if (process === 'starting') return 'starting';
    return process.write(bytes, writeId);
  }

  /** Resolves when a start under way has come to an end. */
  async settled(session: Session, processId: string): Promise<void> {
    await this.#find(session, processId);
  }

  async closeStdin(session: Session, processId: string): Promise<void> {
    (await this.#known(session, processId)).closeStdin();
  }

  async resize(session: Session, processId: string, size: TerminalSize): Promise<void> {
    (await this.#known(session, processId)).resize(size);
  }

  /** Sends a signal to all of a process. Nobody there is no error. */
  async signal(session: Session, processId: string, name: string): Promise<void> {
    const signal = signalNamed(name);
    const process = await this.#find(session, processId);
    process?.child.kill(signal);
  }

  /** Ends a process and everything it started. Tells whether it was running. */
  async terminate(session: Session, processId: string, graceMs: number): Promise<boolean> {
    const process = await this.#find(session, processId);
    if (process === undefined) return false;
    const { running } = process;
    void process.child.terminate({ graceMs: Math.min(graceMs, this.limits.waitMs) });
    return running;
  }

  list(session: Session): ProcessSummary[] {
    const summaries: ProcessSummary[] = [];
    for (const process of session.processes.values()) {
      if (process === 'starting') continue;
      const { processId, argv, tty, running, exitCode, closed } = process;
      summaries.push({ processId, pid: process.child.pid, argv, tty, running, exitCode, closed });
    }
    return summaries;
  }

  /** Ends every session. */
  async dispose(): Promise<void> {
    await this.sessions.endAll();
  }

  /** Finds a process; one that is being started is waited for. */
  async #find(session: Session, processId: string): Promise<ManagedProcess | undefined> {
    for (;;) {
      const process = session.processes.get(processId);
      if (process !== 'starting') return process;
      await session.started(processId);
    }
  }

  async #known(session: Session, processId: string): Promise<ManagedProcess> {
    const process = await this.#find(session, processId);
    if (process === undefined) throw unknownProcess(processId);
    return process;
  }

  #until(process: ManagedProcess, done: () => boolean, waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      let unsubscribe = (): void => {};
      const finish = (): void => {
        clearTimeout(timer);
        unsubscribe();
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const watch = (): void => {
        if (done()) finish();
        else unsubscribe = process.onChange(watch);
      };
      const timer = setTimeout(finish, Math.min(waitMs, this.limits.waitMs));
      signal.addEventListener('abort', finish, { once: true });
      watch();
    });
  }
}

function unknownProcess(processId: string): ExecError {
  return new ExecError('invalidRequest', `unknown process id ${processId}`);
}

/** Understands `interrupt`, which the later dialect knows, and every signal of the system, with or without SIG. */
function signalNamed(name: string): NodeJS.Signals {
  if (name === 'interrupt') return 'SIGINT';
  const wanted = name.startsWith('SIG') ? name : `SIG${name}`;
  if (isSignal(wanted)) return wanted;
  throw new ExecError(
    'invalidParams',
    `signal must be "interrupt" or the name of a signal, not ${JSON.stringify(name)}`,
  );
}

function isSignal(name: string): name is NodeJS.Signals {
  return Object.hasOwn(constants.signals, name);
}
