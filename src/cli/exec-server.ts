import { Command } from 'commander';
import { isSallyportError } from '../errors/index.js';
import type { ExecServer, ProcessLimits } from '../process/index.js';
import {
  isLoopback,
  listenWebSocket,
  ndjsonTransport,
  parseListenAddress,
  printable,
  webSocketTransport,
} from '../wire/index.js';
import { confinedExecServer, type ExecIsolationFlags, withIsolationOptions } from './exec-isolation.js';
import { limitOption } from './exec-limits.js';
import { CliError, EXIT } from './exit.js';
import { collect } from './options.js';

const EXAMPLES = `
Examples:
  sallyport exec-server                                 one client on standard input and output
  sallyport exec-server --listen ws://127.0.0.1:8080    WebSocket clients; port 0 for any free one
  sallyport exec-server --isolation container --workspace ~/project    commands see that folder and no network

The token that WebSocket clients must send is taken from EXECUTOR_API_KEY. An address that other machines can reach
needs one. On a web page, only pages named with --allow-origin can connect.`;

interface Options extends ExecIsolationFlags {
  readonly listen: string;
  readonly allowOrigin: readonly string[];
  readonly http: boolean;
  readonly fs: boolean;
  readonly limit: Partial<ProcessLimits>;
  readonly ignoreSandbox?: boolean;
}

const say = (line: string): void => {
  process.stderr.write(`sallyport exec-server: ${line}\n`);
};

/** Builds `sallyport exec-server`. */
export function execServerCommand(): Command {
  const command = new Command('exec-server')
    .description('Serve the exec-server protocol: run commands and terminals for a client.')
    .option('--listen <address>', 'stdio:// or ws://IP:PORT', 'stdio://')
    .option('--allow-origin <origin>', 'let this web page connect (repeatable)', collect, [])
    .option('--no-http', 'switch http/request off')
    .option('--no-fs', 'switch fs/* off')
    .option('--limit <name=number>', 'a limit of the boundary, such as detachMs=60000 (repeatable)', limitOption, {})
    .option('--ignore-sandbox', 'accept requests for a sandbox that is not enforced here')
    .addHelpText('after', EXAMPLES)
    .action(async (options: Options) => {
      const server = await confinedExecServer(
        options,
        {
          http: options.http ? 'on' : 'off',
          fileSystem: options.fs ? 'on' : 'off',
          limits: options.limit,
          sandboxRequests: options.ignoreSandbox ? 'ignore' : 'refuse',
        },
        say,
      );
      if (options.listen === 'stdio://' || options.listen === 'stdio') await serveStdio(server);
      else await serveWebSocket(server, options);
    });
  return withIsolationOptions(command);
}

/** Resolves at the first signal that asks this process to end. */
function asked(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
}

async function serveStdio(server: ExecServer): Promise<void> {
  const transport = ndjsonTransport({ ...server.transportOptions, readable: process.stdin, writable: process.stdout });
  const connection = server.serveConnection(transport, {
    onProblem: (problem) => say(printable(problem)),
  });
  await Promise.race([connection.ended, asked()]);
  await server.dispose();
  process.exit(EXIT.ok);
}

async function serveWebSocket(server: ExecServer, options: Options): Promise<void> {
  const parsed = parseListenAddress(options.listen);
  // Exit code 1, like the program that this one stands in for.
  if (!parsed.ok) throw new CliError(`--listen: ${parsed.message}, or stdio://`, EXIT.failure);
  const { address } = parsed;
  const token = process.env['EXECUTOR_API_KEY'];
  if (!isLoopback(address.host) && (token === undefined || token === '')) {
    const reason = 'other machines could run commands here';
    throw new CliError(`--listen ${options.listen}: ${reason}; set EXECUTOR_API_KEY to a token first`, EXIT.failure);
  }
  const stop = asked();
  const listener = await listenWebSocket(
    {
      ...address,
      allowedOrigins: options.allowOrigin,
      maxMessageBytes: server.limits.messageBytes,
      ...(token === undefined || token === '' ? {} : { token }),
    },
    (socket) => {
      server.serveConnection(webSocketTransport(socket, server.transportOptions), {
        onProblem: (problem) => say(`connection closed: ${printable(problem)}`),
      });
    },
  ).catch((error: unknown) => {
    if (isSallyportError(error, 'WIRE_LISTEN')) throw new CliError(error.message, EXIT.failure);
    throw error;
  });
  say(`listening on ${listener.url}`);
  await stop;
  await Promise.all([server.dispose(), listener.close()]);
  process.exit(EXIT.ok);
}
