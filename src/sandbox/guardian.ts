import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { SallyportError } from '../errors/index.js';
import { sealStdio } from './inherited-handles.js';
import { GUARDIAN_MIN_LIFE_MS } from './limits.js';

const SCRIPT = fileURLToPath(new URL('./guardian.sh', import.meta.url));

/** Names things of this process. The number alone would not do: containers that share a folder each count their own. */
export const OWN_NAME = `${process.pid}-${randomBytes(8).toString('hex')}`;

/** A word by which the guardian knows the rooms of this process. It means nothing to anybody else. */
export const ROOM_MARK = `sallyport-room-${OWN_NAME}`;

/** What is known of a registered session: its leader runs, or has ended and may have left others behind. */
type LeaderState = 'running' | 'ended';

/**
 * A small process of its own that outlives this one just long enough to end its children, even after SIGKILL.
 *
 * It holds the far end of a pipe that only this process can keep open. Lines go out before the call returns: the
 * kernel has them by the time anything else can happen to this process.
 */
export class Guardian {
  readonly #sessions = new Map<number, LeaderState>();
  /** What is to be removed after a kill: lines as the guardian takes them. */
  readonly #removals = new Set<string>();
  #rooms: 'none' | 'made' = 'none';
  #process: ChildProcess | undefined;

  /** The guardian's own pid, while it runs. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it unless it runs. Nothing may be spawned that it could not end. */
  ensure(): void {
    if (this.#process !== undefined) return;
    const started = performance.now();
    const child = spawn('/bin/sh', [SCRIPT], {
      cwd: '/',
      env: { NODE_V8_COVERAGE: undefined },
      detached: true,
      stdio: sealStdio(['pipe', 'ignore', 'ignore']),
    });
    child.on('error', () => {});
    child.stdin?.on('error', () => {});
    if (child.pid === undefined) {
      throw new SallyportError(
        'SPAWN_FAILED',
        'the guardian that ends children with the server cannot be started: /bin/sh',
      );
    }
    this.#process = child;
    child.once('exit', () => {
      this.#process = undefined;
      const lived = performance.now() - started;
      if (lived >= GUARDIAN_MIN_LIFE_MS) this.#replace();
      else setTimeout(() => this.#replace(), GUARDIAN_MIN_LIFE_MS - lived).unref();
    });
    child.unref();
    if (child.stdin !== null && 'unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
    if (this.#rooms === 'made') this.#tell('=', ROOM_MARK);
    for (const line of this.#removals) this.#tell('', line);
    for (const [pid, state] of this.#sessions) this.#tell(state === 'running' ? '+' : '~', pid);
  }

  /** Says that rooms are about to be made, by programs with {@link ROOM_MARK} among their arguments. */
  roomsAreMade(): void {
    if (this.#rooms === 'made') return;
    this.#rooms = 'made';
    this.#tell('=', ROOM_MARK);
  }

  /** Registers a leader that was just started. */
  started(pid: number): void {
    this.#sessions.set(pid, 'running');
    this.#tell('+', pid);
  }

  /** Notes that a leader was reaped; others of its session may live on. */
  leaderEnded(pid: number): void {
    this.#sessions.set(pid, 'ended');
    this.#tell('~', pid);
  }

  /** Forgets a session that has nobody left. */
  forget(pid: number): void {
    if (this.#sessions.delete(pid)) this.#tell('-', pid);
    if (this.#sessions.size > 0 || this.#rooms === 'none') return;
    // Without a room there is none to search for.
    this.#rooms = 'none';
    this.#tell('=', '');
  }

  /** Has a folder be removed, with all that is in it, when this process is gone and has not done so itself. */
  removesFolder(path: string): void {
    this.#removes(path);
  }

  /** The folder is gone, or somebody else's by now. */
  keepsFolder(path: string): void {
    if (this.#removals.delete(path)) this.#tell('!', path);
  }

  /** The same for control groups, which are empty by then: all whose path begins with this. */
  removesGroups(prefix: string): void {
    this.#removes(`^${prefix}`);
  }

  #removes(line: string): void {
    // A line is all that the guardian reads. A path that is more than one stays for the next start to sweep.
    if (this.#removals.has(line) || line.includes('\n')) return;
    this.#removals.add(line);
    this.#tell('', line);
  }

  #replace(): void {
    if (this.#sessions.size === 0) return;
    try {
      this.ensure();
    } catch {
      // The next spawn tries again, and fails loudly if it still cannot be started.
    }
  }

  #tell(event: '+' | '~' | '-' | '=' | '!' | '', about: number | string): void {
    this.#process?.stdin?.write(`${event}${about}\n`);
  }
}

let shared: Guardian | undefined;

/** The one guardian of this process; a worker thread has its own, which acts when the thread ends. */
export function sharedGuardian(): Guardian {
  shared ??= new Guardian();
  return shared;
}

/** Has the guardian end a child of this process that no spawner started, and that would end by itself where there is none. */
export function guard(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined) return;
  const guardian = sharedGuardian();
  try {
    guardian.ensure();
  } catch {
    // The next spawn says so.
  }
  guardian.started(pid);
  child.once('exit', () => guardian.forget(pid));
}
