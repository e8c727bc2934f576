import type { StreamName } from './messages.js';

/** What a session tells its client without being asked. Bytes are bytes here; only the connection knows base64. */
export type SessionEvent =
  | {
      readonly type: 'output';
      readonly processId: string;
      readonly seq: number;
      readonly stream: StreamName;
      readonly bytes: Buffer;
    }
  | {
      readonly type: 'exited';
      readonly processId: string;
      readonly seq: number;
      readonly exitCode: number;
      readonly timedOut: boolean;
    }
  | { readonly type: 'closed'; readonly processId: string; readonly seq: number }
  | {
      readonly type: 'bodyDelta';
      readonly requestId: string;
      readonly seq: number;
      readonly bytes: Buffer;
      readonly done: boolean;
      readonly error: string | null;
    };

/** Where a session's events go. It takes each one; `wait` asks for no more before `Session.ready()`. */
export interface SessionSink {
  deliver(event: SessionEvent): 'more' | 'wait';
}
