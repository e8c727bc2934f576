import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { SALLYPORT } from '../e2e/command.js';

export interface WireMessage {
  readonly type: string;
  readonly id?: string;
  readonly callId?: string;
  readonly [field: string]: unknown;
}

/** A runner on the other side of a wire, and what it has said. */
export interface WireRunner {
  readonly messages: WireMessage[];
  send(message: unknown): void;
  /** Sends bytes as they are. */
  sendRaw(text: string | Uint8Array): void;
  /** The next message that fits, or that was there already and nobody took. */
  next(fits: (message: WireMessage) => boolean): Promise<WireMessage>;
  /** Takes all messages that are there, so that `next` gives none of them. */
  forget(): void;
  /** Hangs up. */
  end(): void;
  /** Resolves with the exit code and what was printed to stderr. */
  readonly exited: Promise<{ code: number | null; stderr: string }>;
  stop(): Promise<void>;
}

/** Keeps messages until somebody asks for them. */
export function mailbox() {
  const messages: WireMessage[] = [];
  const taken = new Set<WireMessage>();
  const waiting = new Set<() => boolean>();
  return {
    messages,
    forget() {
      for (const message of messages) taken.add(message);
    },
    put(message: WireMessage) {
      messages.push(message);
      for (const attempt of waiting) if (attempt()) waiting.delete(attempt);
    },
    next: (fits: (message: WireMessage) => boolean) =>
      new Promise<WireMessage>((resolve) => {
        const attempt = () => {
          const found = messages.find((message) => !taken.has(message) && fits(message));
          if (found === undefined) return false;
          taken.add(found);
          resolve(found);
          return true;
        };
        if (!attempt()) waiting.add(attempt);
      }),
  };
}

/** Starts the built runner on stdio. */
export function startRunner(args: readonly string[] = []): WireRunner {
  const child = spawn(process.execPath, [SALLYPORT, 'runner', ...args], {
    stdio: 'pipe',
    env: { PATH: process.env['PATH'] ?? '' },
  });
  const box = mailbox();
  createInterface({ input: child.stdout }).on('line', (line) => box.put(JSON.parse(line)));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {});
  const exited = new Promise<{ code: number | null; stderr: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, stderr }));
  });
  return {
    messages: box.messages,
    next: box.next,
    forget: box.forget,
    exited,
    send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    sendRaw: (text) => void child.stdin.write(text),
    end: () => void child.stdin.end(),
    stop: async () => {
      child.stdin.end();
      child.kill();
      await exited;
    },
  };
}

export const byType =
  (type: string, id?: string) =>
  (message: WireMessage): boolean =>
    message.type === type && (id === undefined || message.id === id);
