import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { describeTools } from '../capabilities/index.js';
import { createExecutor, type ExecuteError, sourceFrame } from '../guest/index.js';
import { printable } from '../wire/index.js';
import { checkIsolation } from './check-isolation.js';
import { CliError, EXIT } from './exit.js';
import type { CommandIsolation } from './options.js';
import { shownOn } from './shown.js';
import { loadTools } from './tools-module.js';

export interface RunFlags {
  readonly tools?: string;
  readonly timeout?: number;
  readonly memory?: number;
  readonly types?: boolean;
  readonly json?: boolean;
  readonly isolation: CommandIsolation;
}

/** Runs one program and prints what becomes of it. */
export async function runProgram(file: string, flags: RunFlags): Promise<void> {
  const providers = flags.tools === undefined ? [] : await loadTools(flags.tools);
  if (flags.types) {
    process.stdout.write(describeTools(providers));
    return;
  }
  const code = await readProgram(file);
  await checkIsolation(flags.isolation);
  const executor = createExecutor({ isolation: flags.isolation, size: 1 });
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  process.once('SIGTERM', () => abort.abort());
  try {
    const result = await executor.execute(code, providers, {
      signal: abort.signal,
      ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
      ...(flags.memory === undefined ? {} : { memoryLimitBytes: flags.memory }),
      onEvent: (event) => {
        if (event.type === 'log' && !flags.json)
          process.stderr.write(`${printable(event.line, Number.POSITIVE_INFINITY)}\n`);
      },
    });
    if (flags.json) print(JSON.stringify(result));
    else if (result.ok) printValue(result.result);
    else printError(result.error, code, file);
    if (!result.ok) process.exitCode = EXIT.failure;
  } finally {
    await executor.dispose({ mode: 'abort' });
  }
}

async function readProgram(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function printValue(value: unknown): void {
  if (value === undefined) return;
  print(typeof value === 'string' ? value : JSON.stringify(value, null, 2));
}

const print = (text: string): void => void process.stdout.write(`${shownOn(process.stdout, text)}\n`);

function printError(error: ExecuteError, code: string, file: string): void {
  process.stderr.write(`${error.code}: ${printable(error.message, 4_000)}\n`);
  if (error.line === undefined) return;
  const column = error.column ?? 1;
  process.stderr.write(`  at ${file === '-' ? 'stdin' : printable(file)}:${error.line}:${column}\n`);
  process.stderr.write(`${sourceFrame(code, error.line, column)}\n`);
}
