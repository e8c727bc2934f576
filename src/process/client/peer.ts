import type { TerminalSize } from '../../sandbox/index.js';
import type { EnvironmentInfo } from '../environment.js';
import type { SessionEvent } from '../events.js';
import type { FileSystem } from '../fs/file-system.js';
import type { ProcessSummary, StartParams } from '../handler.js';
import type { HttpRequest } from '../http-request.js';
import type { ReadResult } from '../managed-process.js';
import type { Dialect, HttpHeader, WriteStatus } from '../messages.js';

/** Files on the machine of the server. Paths are native on this side, whatever travels. */
export type FileAccess = Pick<FileSystem, Exclude<keyof FileSystem, 'open'>>;

export type ReadOutput = Omit<ReadResult, 'timedOut'>;

/** What a client asks of a server, near or far. */
export interface ExecPeer {
  readonly dialect: Dialect;
  readonly sessionId: string | undefined;
  readonly fs: FileAccess;
  start(params: StartParams): Promise<void>;
  /** Lets events of a started process come, once somebody is there to take them. */
  begin(processId: string): void;
  read(processId: string, afterSeq: number, maxBytes?: number, waitMs?: number): Promise<ReadOutput>;
  /** Whether a process that has exited was ended because its time was up. */
  timedOut(processId: string): Promise<boolean>;
  write(processId: string, bytes: Uint8Array, writeId: string): Promise<WriteStatus>;
  closeStdin(processId: string): Promise<void>;
  resize(processId: string, size: TerminalSize): Promise<void>;
  signal(processId: string, signal: string): Promise<void>;
  terminate(processId: string, graceMs: number): Promise<boolean>;
  list(): Promise<readonly ProcessSummary[]>;
  environmentInfo(): Promise<EnvironmentInfo>;
  httpRequest(request: HttpRequest): Promise<{ status: number; headers: readonly HttpHeader[]; body: Buffer }>;
  close(): Promise<void>;
}

/** What a peer tells the client. A returned promise holds back what follows. */
export interface PeerEvents {
  onEvent(event: SessionEvent): void | Promise<void>;
  /** The connection was lost and is back: events between may be missing. */
  onResumed(): void;
  onClosed(reason: Error | undefined): void;
}
