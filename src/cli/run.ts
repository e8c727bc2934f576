import { Command } from 'commander';
import { isolationOption, positiveInteger } from './options.js';
import type { RunFlags } from './run-program.js';

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
    .addOption(isolationOption('thread'))
    .addHelpText('after', HELP)
    .action(async (file: string, flags: RunFlags) => {
      const { runProgram } = await import('./run-program.js');
      await runProgram(file, flags);
    });
}
