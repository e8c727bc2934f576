/** The boundaries that executions cross. */
export type ExecutionKind = 'guest' | 'wasm' | 'tool' | 'process';

/** One thing that an execution was allowed to do, or was refused. */
export interface Capability {
  readonly type: 'tool' | 'callback' | 'process' | 'network';
  readonly name: string;
  readonly at: string;
  readonly outcome: 'started' | 'ok' | 'failed' | 'allowed' | 'denied';
  readonly durationMs?: number;
  /** The code or reason of what went wrong. */
  readonly reason?: string;
}

/** How an execution ended. `code` is `ok`, or the code of its boundary. */
export interface Outcome {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly code: string;
  readonly message?: string;
  /** The limit that ended it, if one did. */
  readonly limit?: 'time' | 'memory' | 'output' | 'other';
}

/** What is known when an execution is asked for. */
export interface AskedFor {
  readonly kind: ExecutionKind;
  /** The path that it came by. */
  readonly via: string;
  /** What it is, in one word or two: a package and an export, a module and a function, a program. */
  readonly label: string;
  readonly isolation: string;
  readonly limits: Readonly<Record<string, number>>;
  /** Chosen when absent. */
  readonly id?: string;
  /** Ends it from outside. */
  readonly cancel?: (reason: string) => void;
}

/** An execution, as the audit trail shows it. */
export interface ExecutionRecord {
  readonly executionId: string;
  readonly kind: ExecutionKind;
  readonly via: string;
  readonly label: string;
  readonly by: { readonly key: string | null; readonly address: string | null };
  readonly isolation: string;
  readonly limits: Readonly<Record<string, number>>;
  readonly status: 'queued' | 'running' | Outcome['status'];
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly durationMs?: number;
  readonly outcome?: { readonly code: string; readonly message?: string };
  readonly capabilities: readonly Capability[];
  /** How many of each kind there were, those that are not kept included. */
  readonly capabilityCounts: Readonly<Record<string, number>>;
}

/** What the trail tells as it happens. */
export type AuditEvent =
  | { readonly type: 'created' | 'started' | 'ended'; readonly execution: ExecutionRecord; readonly key: string | null }
  | {
      readonly type: 'capability';
      readonly executionId: string;
      readonly kind: ExecutionKind;
      readonly capability: Capability;
      readonly key: string | null;
    };
