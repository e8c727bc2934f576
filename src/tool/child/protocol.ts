/*
 * What the server and a child say to each other. Jobs come in on one pipe, results leave on another; standard output and
 * standard error belong to the tool. Every frame of the child starts with a secret that it was handed with the job and
 * that only the runner's own closure knows, so that what a tool writes to the pipe is not taken for a frame. Code that goes
 * as far as to read the memory of its own process finds the secret all the same: the server takes from a child nothing but
 * what a tool may say of itself, whoever wrote it.
 */

/** Handle of the pipe that results leave on. */
export const RESULT_HANDLE = 3;
/** Handle of the pipe that the job and, later, the wish to abort come in on. */
export const JOB_HANDLE = 4;
/** Bytes of the secret in front of every frame. */
export const SECRET_BYTES = 32;
/** Bytes of the length behind the secret. */
export const LENGTH_BYTES = 4;

export interface ChildJob {
  /** `execute` runs the tool; `describe` looks at it; `inspect` only lists what the package exports. */
  readonly mode: 'execute' | 'describe' | 'inspect';
  /** The module that brings the package in, as a URL. */
  readonly entry: string;
  /** The package's own folder. */
  readonly packageFolder: string;
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>> | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly toolCallId: string;
  readonly maxOutputBytes: number;
  readonly maxOutputDepth: number;
}

/** What is said to a child. The secret comes before the first message, as bytes: text would stay in the heap. */
export type ToChild =
  | { readonly type: 'job'; readonly job: ChildJob }
  | { readonly type: 'abort'; readonly reason: string };

/** What may be wrong with a tool. Everything else that can go wrong is for the server to say. */
export const CHILD_ERROR_CODES = ['TOOL_NOT_FOUND', 'TOOL_INVALID', 'TOOL_EXECUTION_ERROR'] as const;
export type ChildErrorCode = (typeof CHILD_ERROR_CODES)[number];

/** How far a tool came that failed. */
export const CHILD_PHASES = ['import', 'find', 'execute', 'output'] as const;
export type ChildPhase = (typeof CHILD_PHASES)[number];

/** How a tool was found. */
export const FOUND_BY = ['export', 'default-property', 'default'] as const;
export type FoundBy = (typeof FOUND_BY)[number];

export interface ToolDescription {
  readonly foundBy: FoundBy;
  readonly description?: string;
  readonly inputSchema?: unknown;
  readonly params?: { readonly fit: boolean; readonly problems: readonly string[] };
}

export type FromChild =
  | { readonly type: 'loaded' }
  | { readonly type: 'preliminary'; readonly output: unknown }
  | { readonly type: 'result'; readonly output: unknown }
  | { readonly type: 'described'; readonly tool: ToolDescription }
  | { readonly type: 'inspected'; readonly shape: string }
  | {
      readonly type: 'error';
      readonly code: ChildErrorCode;
      readonly phase: ChildPhase;
      readonly message: string;
      readonly errorName?: string;
    }
  | { readonly type: 'crash'; readonly message: string };
