import type { SallyportError } from '../../errors/index.js';
import type { RuntimeReport } from '../runtime/runtime.js';

/** What a client tells about the lives of its guests. */
export type WasmEvent =
  | { readonly type: 'started'; readonly guest: number; readonly pid: number; readonly runtime: RuntimeReport }
  | {
      readonly type: 'ended';
      readonly guest: number;
      readonly pid: number;
      readonly exitCode: number | null;
      readonly signal: string | null;
      /** The end of its standard error, safe to show. */
      readonly stderr: string;
      /** Why it ended, unless it was no longer needed. */
      readonly error: SallyportError | undefined;
    }
  | { readonly type: 'recycled'; readonly guest: number; readonly calls: number; readonly bytes: number }
  | {
      readonly type: 'backoff';
      readonly failures: number;
      readonly retryInMs: number;
      readonly error: SallyportError;
    };
