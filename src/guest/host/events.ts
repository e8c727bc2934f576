import type { ExecuteResult } from '../messages.js';

interface ToolFacts {
  readonly executionId: string;
  readonly callId: string;
  readonly providerName: string;
  readonly safeToolName: string;
}

/** What happens during an execution, as it happens. */
export type ExecutionEvent =
  | { readonly type: 'started'; readonly executionId: string }
  | { readonly type: 'log'; readonly executionId: string; readonly line: string }
  | ({ readonly type: 'tool_call'; readonly input: unknown } & ToolFacts)
  | ({ readonly type: 'tool_result'; readonly durationMs: number; readonly ok: true } & ToolFacts)
  | ({
      readonly type: 'tool_result';
      readonly durationMs: number;
      readonly ok: false;
      readonly error: { readonly code: string; readonly message: string };
    } & ToolFacts)
  | { readonly type: 'done'; readonly executionId: string; readonly result: ExecuteResult };
