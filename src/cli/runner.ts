import { Command } from 'commander';
import { isolationOption } from './options.js';
import type { RunnerFlags } from './serve-runner.js';

const HELP = `
Speaks the execbox runner protocol: one JSON message per line on stdin and stdout, or one per WebSocket text frame with one
execution at a time per connection. With EXECUTOR_API_KEY set, WebSocket clients must send it as a bearer token.

Example:
  echo '{"type":"execute","id":"1","code":"1 + 1","options":{},"providers":[]}' | sallyport runner`;

/** `sallyport runner`: runs guests for a host on the other side of a pipe or a socket. */
export function runnerCommand(): Command {
  return new Command('runner')
    .description('serve the execbox runner protocol on stdio, or on a WebSocket')
    .option('--listen <address>', 'stdio://, or ws://IP:PORT with a literal address (port 0: any free one)', 'stdio://')
    .addOption(isolationOption('process'))
    .addHelpText('after', HELP)
    .action(async (flags: RunnerFlags) => {
      const { serveRunner } = await import('./serve-runner.js');
      await serveRunner(flags);
    });
}
