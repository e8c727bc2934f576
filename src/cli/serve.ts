import { Command, InvalidArgumentError, Option } from 'commander';
import { collect, duration } from './options.js';
import type { ServeFlags } from './serve-all.js';

const HELP = `
Flags override the environment (EXECUTOR_API_KEY, SALLYPORT_PORT, …), which overrides the file of --config. On a loopback
address no key is needed; an address that others can reach needs one. SIGTERM lets what runs finish; a second one ends it.
SIGHUP reads keys and limits again.

Example:
  $ sallyport serve --port 7420 --tools ./tools.mjs --wasm ./modules
  $ curl -s http://127.0.0.1:7420/run -H 'content-type: application/json' -d '{"code":"return 1 + 1"}'`;

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** `sallyport serve`: all four boundaries on one port. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Serve all four boundaries on one port.')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--port <number>', 'port to listen on; 0 picks one (default: 7420)', wholeNumber)
    .option('--api-key <key>', 'the bearer token; better set EXECUTOR_API_KEY, which others cannot see')
    .addOption(
      new Option('--isolation <level>', 'what confines children (default: auto)').choices([
        'auto',
        'process',
        'container',
      ]),
    )
    .option(
      '--workspace <folder>',
      'where commands may work and write at level container; may be given several times',
      collect,
    )
    .option('--cache-dir <folder>', 'where packages and asynchronous executions are kept')
    .option('--tools <module>', 'a module that exports what programs of POST /run may call')
    .option('--wasm <folder>', 'a folder of .wasm modules, served by name')
    .option('--registry <url>', 'registry to install tools from; npm configuration decides otherwise')
    .option('--allow-origin <origin>', 'an origin whose pages may use it; may be given several times', collect)
    .option('--allow-host <name>', 'a name that the server goes by in Host; may be given several times', collect)
    .option('--log-level <level>', 'fatal, error, warn, info, debug, trace or silent')
    .option(
      '--drain-timeout <time>',
      'how long running work may take after SIGTERM, such as 30s (default: 30s)',
      duration,
    )
    .option('--config <file>', 'a JSON file, or a module with defineConfig')
    .option('--print-config', 'print the settings and where each came from, and stop')
    .addHelpText('after', HELP)
    .action(async (flags: ServeFlags) => {
      const { serveAll } = await import('./serve-all.js');
      await serveAll(flags);
    });
}
