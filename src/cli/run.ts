import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import { describeTools } from '../capabilities/index.js';
import { createExecutor, type ExecuteError, sourceFrame } from '../guest/index.js';
import { printable } from '../wire/index.js';
import { CliError, EXIT } from './exit.js';
import { isolationOption, positiveInteger } from './options.js';
import { loadTools } from './tools-module.js';

interface RunFlags {
  readonly tools?: string;
  readonly timeout?: number;
  readonly memory?: number;
  readonly types?: boolean;
  readonly json?: boolean;
  readonly isolation: 'thread' | 'process';
}

const HELP = `
The value of the program (its \`return\`, or its last expression) goes to stdout as JSON, a string as it is; what it logs goes
to stderr. Exit code 0, or 1 when the program failed.

Examples:
  echo 'const xs = [1, 2, 3]; xs.map((x) => x * x)' | sallyport run -
  sallyport run program.ts --tools tools.js --timeout 2000
  sallyport run - --tools tools.js --types          print what the program can call, and stop`;

/** `sallyport run`: runs one guest program with tools from a module. */
export function runCommand(): Command {
  return new Command('run')
    .description('run guest JavaScript or TypeScript, and print its result')
    .argument('<file>', 'the program, or - for standard input')
    .option('--tools <module>', 'a module (.js, .mjs or .ts) that exports tools made with defineTools')
    .option('--timeout <ms>', 'time limit', positiveInteger)
    .option('--memory <bytes>', 'memory limit', positiveInteger)
    .option('--types', 'print the declarations of the tools, and stop')
    .option('--json', 'print the whole result as JSON: ok, result or error, logs, durationMs')
    .addOption(isolationOption())
    .addHelpText('after', HELP)
    .action(run);
}

async function run(file: string, flags: RunFlags): Promise<void> {
  const providers = flags.tools === undefined ? [] : await loadTools(flags.tools);
  if (flags.types) {
    process.stdout.write(describeTools(providers));
    return;
  }
  const code = await readProgram(file);
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
    if (flags.json) process.stdout.write(`${JSON.stringify(result)}\n`);
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
  process.stdout.write(`${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}\n`);
}

function printError(error: ExecuteError, code: string, file: string): void {
  process.stderr.write(`${error.code}: ${printable(error.message, 4_000)}\n`);
  if (error.line === undefined) return;
  const column = error.column ?? 1;
  process.stderr.write(`  at ${file === '-' ? 'stdin' : printable(file)}:${error.line}:${column}\n`);
  process.stderr.write(`${sourceFrame(code, error.line, column)}\n`);
}
