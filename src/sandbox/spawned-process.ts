import type { InputStream } from './input.js';
import type { ExtraPipe } from './launch.js';
import type { LimitHit } from './level.js';
import type { OutputStream } from './output.js';
import type { TerminalSize } from './request.js';

/** What a child used. Processor time and memory are only there when the level can measure them. */
export interface ResourceUsage {
  readonly wallMs: number;
  readonly cpuMs?: number;
  readonly maxRssBytes?: number;
}

export interface ExitStatus {
  /** The exit code, or null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Whether the spawner ended it because its time was up. */
  readonly timedOut: boolean;
  /** The limit that ended it or held it back, where the level can tell. */
  readonly limit?: LimitHit;
  readonly usage: ResourceUsage;
}

/**
 * A child and everything it starts.
 *
 *     running ──▶ exited ──▶ drained (all it wrote itself was handed over) ──▶ closed (nobody else can write either)
 *
 * What it leaves running in the background at a natural exit stays, until `terminate`, the end of the spawner, or the end
 * of this program, whichever comes first.
 */
export interface SpawnedProcess extends AsyncDisposable {
  readonly pid: number;
  /** The process group and session that it leads. */
  readonly processGroup: number;
  readonly level: string;
  /** `stdout` and `stderr`, or `pty`. */
  readonly outputs: readonly OutputStream[];
  /** Nothing when standard input is /dev/null. */
  readonly input: InputStream | undefined;
  readonly extraPipes: readonly ExtraPipe[];
  /** Whether it is known that nobody of it is left: neither the child nor what it started. */
  readonly vacated: boolean;
  readonly exited: Promise<ExitStatus>;
  readonly drained: Promise<void>;
  readonly closed: Promise<void>;
  /** Changes the size of the terminal; throws SPAWN_INVALID for a size that cannot be, or when there is no terminal. */
  resize(size: TerminalSize): void;
  /** Whether this child alone keeps our own process alive: `hold` (as at first) or `release`. */
  eventLoop(mode: 'hold' | 'release'): void;
  /** Sends a signal to all of it. False when nobody is left. */
  kill(signal: NodeJS.Signals): boolean;
  /** Ends all of it and resolves when it is gone: at once, or with SIGTERM and `graceMs` to comply first. */
  terminate(options?: { readonly graceMs?: number }): Promise<void>;
}
