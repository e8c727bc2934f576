import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The built command, as the package ships it. */
export const SALLYPORT = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface CommandResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly input?: string;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

/** Runs the built command to its end. */
export function sallyport(args: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [SALLYPORT, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: options.env ?? { PATH: process.env['PATH'] ?? '' },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}
