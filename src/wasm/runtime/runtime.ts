import type { SpawnedProcess, Spawner } from '../../sandbox/index.js';

/** Who enforces a limit, in words, or that nobody does. */
export interface EnforcedLimits {
  readonly memory: string;
  readonly tables: string;
  readonly processMemory: string;
  readonly time: string;
  readonly fileSystem: string;
  readonly environment: string;
  readonly network: string;
}

/** What a client says about what runs its guest. */
export interface RuntimeReport {
  readonly name: string;
  readonly version: string;
  readonly enforces: EnforcedLimits;
}

/** What a runtime says when its guest could not start or trapped. */
export interface RuntimeFailure {
  readonly stage: 'compile' | 'link' | 'start' | 'run';
  readonly message: string;
}

/** One guest that has been started. */
export interface RunningGuest {
  readonly process: SpawnedProcess;
  /** Resolves when the module is instantiated; at once where the runtime cannot tell. Never rejects. */
  readonly ready: Promise<void>;
  /** What the runtime said about a failure, once the process has ended. */
  failure(): RuntimeFailure | undefined;
}

/** Files of the machine that a runtime works with. */
export interface RuntimeFiles {
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** A way to run one module, again and again. */
export interface WasmRuntime {
  readonly report: RuntimeReport;
  /** Files that its processes must find where they are, at any level. */
  readonly files?: RuntimeFiles;
  start(spawner: Spawner): Promise<RunningGuest>;
  /** Gives back files. Running guests are ended before. */
  dispose(): Promise<void>;
}

/** What holds whatever runs the guest. */
export const COMMON_LIMITS = {
  time: 'the host ends the process',
  environment: 'empty',
} as const;
