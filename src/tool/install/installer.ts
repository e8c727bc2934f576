import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { guard } from '../../sandbox/index.js';
import type {
  BundleAnswer,
  BundleJob,
  FromInstaller,
  InstalledTree,
  InstallerSettings,
  InstallJob,
  Job,
  JobError,
  ResolvedPackage,
  ResolveJob,
} from './jobs.js';

const ENTRY = fileURLToPath(new URL('./installer-main.js', import.meta.url));
/** How often a job is handed to a fresh installer after the one that had it died. */
const MAX_ATTEMPTS = 2;

/** A job that the installer could not do. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
  readonly error: JobError;

  constructor(error: JobError) {
    super(error.message);
    this.error = error;
  }
}

interface Pending {
  readonly job: Job;
  readonly onProgress: (packages: number) => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
  attempts: number;
}

/** What can be asked of an installer. */
export interface Installer extends AsyncDisposable {
  resolve(job: Omit<ResolveJob, 'op'>): Promise<ResolvedPackage>;
  install(job: Omit<InstallJob, 'op'>, onProgress: (packages: number) => void): Promise<InstalledTree>;
  bundle(job: Omit<BundleJob, 'op'>): Promise<BundleAnswer>;
}

/**
 * Runs the installer process: starts it with the first job, starts it again when it dies, and ends it when a job does
 * not come back. The jobs that a process had when it died are tried once more in the next one. When none can be
 * started, the job that wanted it fails, and the next job tries again.
 */
export class InstallerProcess implements Installer {
  readonly #settings: InstallerSettings;
  readonly #hardTimeoutMs: number;
  readonly #pending = new Map<number, Pending>();
  #child: ChildProcess | undefined;
  #next = 1;
  #disposed = false;

  constructor(settings: InstallerSettings, hardTimeoutMs: number) {
    this.#settings = settings;
    this.#hardTimeoutMs = hardTimeoutMs;
  }

  /** Starts the process ahead of the first job. */
  warm(): void {
    this.#ensure();
  }

  resolve(job: Omit<ResolveJob, 'op'>): Promise<ResolvedPackage> {
    return this.#ask<ResolvedPackage>({ op: 'resolve', ...job });
  }

  install(job: Omit<InstallJob, 'op'>, onProgress: (packages: number) => void): Promise<InstalledTree> {
    return this.#ask<InstalledTree>({ op: 'install', ...job }, onProgress);
  }

  bundle(job: Omit<BundleJob, 'op'>): Promise<BundleAnswer> {
    return this.#ask<BundleAnswer>({ op: 'bundle', ...job });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    const child = this.#child;
    for (const [id] of this.#pending) this.#fail(id, 'the executor is being shut down');
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.ref();
    child.kill('SIGKILL');
    await gone;
  }

  // The answer's type follows from the job's: both ends are this package.
  #ask<Answer>(job: Job, onProgress: (packages: number) => void = () => {}): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      if (this.#disposed) {
        reject(new JobFailure({ problem: 'internal', message: 'the executor is shut down', code: undefined }));
        return;
      }
      const id = this.#next;
      this.#next += 1;
      const timer = setTimeout(() => {
        this.#fail(id, `gave up after ${this.#hardTimeoutMs} ms`, 'unreachable');
        // Nothing inside can be cancelled for certain; a fresh process can.
        this.#child?.kill('SIGKILL');
      }, this.#hardTimeoutMs);
      timer.unref();
      this.#pending.set(id, {
        job,
        onProgress,
        resolve: (value) => resolve(value as Answer),
        reject,
        timer,
        attempts: 0,
      });
      this.#send(id);
    });
  }

  #send(id: number): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    pending.attempts += 1;
    const child = this.#ensure();
    if (child === undefined) {
      this.#fail(id, 'the installer could not be started; is the machine out of processes, memory or open files?');
      return;
    }
    child.ref();
    child.channel?.ref();
    child.send({ type: 'job', id, job: pending.job }, () => {});
  }

  #ensure(): ChildProcess | undefined {
    if (this.#child !== undefined) return this.#child;
    const child = startChild();
    if (child === undefined) return undefined;
    this.#child = child;
    child.on('message', (message: FromInstaller) => this.#hear(message));
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
      for (const [id, pending] of this.#pending) {
        if (this.#disposed || pending.attempts >= MAX_ATTEMPTS) this.#fail(id, 'the installer ended unexpectedly');
        else this.#send(id);
      }
    });
    child.send({ type: 'settings', settings: this.#settings }, () => {});
    child.unref();
    child.channel?.unref();
    return child;
  }

  #hear(message: FromInstaller): void {
    const pending = this.#pending.get(message.id);
    if (pending === undefined) return;
    if (message.type === 'progress') {
      pending.onProgress(message.packages);
      return;
    }
    this.#settle(message.id, pending);
    if (message.type === 'done') pending.resolve(message.value);
    else pending.reject(new JobFailure(message.error));
  }

  #fail(id: number, reason: string, problem: JobError['problem'] = 'internal'): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#settle(id, pending);
    pending.reject(new JobFailure({ problem, message: reason, code: undefined }));
  }

  #settle(id: number, pending: Pending): void {
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    if (this.#pending.size > 0) return;
    // An idle installer keeps nobody's program alive.
    this.#child?.unref();
    this.#child?.channel?.unref();
  }
}

/** Starts a process, or not: the machine may have no place for one. */
function startChild(): ChildProcess | undefined {
  let child: ChildProcess;
  try {
    child = fork(ENTRY, [], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], execArgv: [] });
    // It ends by itself, too, but a moment later: what it writes until then would be left when the guardian cleans up.
    guard(child);
  } catch {
    return undefined;
  }
  child.on('error', () => {});
  // Such a child never exits, and may have no channel.
  return child.pid === undefined ? undefined : child;
}
