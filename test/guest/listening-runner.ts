import { spawn } from 'node:child_process';
import { SALLYPORT } from '../e2e/command.js';

export interface ListeningRunner {
  readonly url: string;
  /** Asks it to end, and resolves with its exit code. */
  stop(): Promise<number | null>;
}

/** Starts the built runner on a WebSocket of its own choice. */
export function listenRunner(env: Record<string, string>, args: readonly string[] = []): Promise<ListeningRunner> {
  const child = spawn(process.execPath, [SALLYPORT, 'runner', '--listen', 'ws://127.0.0.1:0', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', ...env },
  });
  const exited = new Promise<number | null>((resolve) => child.on('close', resolve));
  return new Promise((resolve, reject) => {
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      const url = /listening on (ws:\S+)/.exec(stderr)?.[1];
      if (url === undefined) return;
      resolve({
        url,
        stop: () => {
          child.kill();
          return exited;
        },
      });
    });
    void exited.then((code) => reject(new Error(`the runner exited with ${code}: ${stderr}`)));
  });
}
