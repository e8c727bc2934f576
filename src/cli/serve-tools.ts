import { Command, InvalidArgumentError } from 'commander';
import { printable } from '../wire/index.js';
import { CliError } from './exit.js';
import { collect, duration } from './options.js';
import { defaultToolCache } from './tool-cache.js';
import { type ToolIsolationFlags, withIsolationOptions } from './tool-isolation-options.js';

interface ServeOptions extends ToolIsolationFlags {
  readonly host: string;
  readonly port: number;
  readonly cacheDir?: string;
  readonly registry?: string;
  readonly authScope: 'default' | 'all';
  readonly allowHost: readonly string[];
  readonly allowOrigin: readonly string[];
  readonly allowScripts: readonly string[];
  readonly deny: readonly string[];
  readonly minReleaseAge: number;
  readonly webhookAllow: readonly string[];
  readonly region?: string;
}

const MAX_CONNECTIONS = 1_024;
const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|::1)$/i;

function portNumber(value: string): number {
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > 65_535) throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return port;
}

/** Without a unit nobody could tell what was meant. */
function age(value: string): number {
  if (!/[hd]$/.test(value)) throw new InvalidArgumentError('It must be hours or days, such as 24h or 7d.');
  return duration(value);
}

function scope(value: string): 'default' | 'all' {
  if (value === 'default' || value === 'all') return value;
  throw new InvalidArgumentError('It must be default or all.');
}

async function serveTools(options: ServeOptions): Promise<void> {
  const apiKey = process.env['EXECUTOR_API_KEY'] ?? '';
  const loopback = LOOPBACK.test(options.host);
  if (!loopback && apiKey === '') {
    throw new CliError(`${options.host} can be reached by others: set EXECUTOR_API_KEY, or use --host 127.0.0.1`);
  }
  // Loaded here, so that other commands do not wait for it.
  const [{ default: Fastify }, { pino }, tool, { toolIsolation }] = await Promise.all([
    import('fastify'),
    import('pino'),
    import('../tool/index.js'),
    import('./tool-isolation.js'),
  ]);
  const { createToolExecutor, toolRoutes, toolServerOptions } = tool;
  const logger = pino({ level: process.env['LOG_LEVEL'] ?? 'info' }, pino.destination(2));
  const cacheDir = options.cacheDir ?? defaultToolCache();
  const { spawner, level, reason, network } = await toolIsolation(options, cacheDir, (decision) => {
    const { verdict, protocol, host, port, address } = decision;
    logger.info(
      { verdict, protocol, host: printable(host, 200), port, address, reason: decision.reason },
      'connection',
    );
  });
  const executor = createToolExecutor({
    cacheDir,
    spawner,
    level,
    ...(options.registry === undefined ? {} : { registry: options.registry }),
    policy: {
      allowScripts: options.allowScripts,
      deny: options.deny,
      minReleaseAgeMs: options.minReleaseAge,
      webhookAllow: options.webhookAllow,
      ...(network === undefined ? {} : { network }),
    },
  });
  const { maxTotalTimeMs, requestTimeoutMs } = executor.limits;
  const server = Fastify({
    ...toolServerOptions(executor.limits),
    // Longer than any answer takes: who has not moved a byte since does not read it.
    connectionTimeout: maxTotalTimeMs + requestTimeoutMs,
  });
  server.server.maxConnections = MAX_CONNECTIONS;
  server.addHook('onResponse', async (request, reply) => {
    // The path without its query, and no header: neither keys nor parameters belong in a log.
    const path = request.url.split('?', 1)[0];
    logger.info(
      { method: request.method, path, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request',
    );
  });
  await server.register(
    toolRoutes(executor, {
      apiKey,
      authScope: options.authScope,
      ...(loopback || options.allowHost.length > 0 ? { hosts: ['loopback', ...options.allowHost] } : {}),
      ...(options.allowOrigin.length > 0 ? { origins: options.allowOrigin } : {}),
      ...(options.region === undefined ? {} : { region: options.region }),
    }),
  );
  try {
    await executor.warm();
    const url = await server.listen({ host: options.host, port: options.port });
    logger.info(
      { url, level, reason, confinedBy: executor.confinedBy, auth: apiKey === '' ? 'none' : 'bearer' },
      'serving tools',
    );
    process.stdout.write(`${url}\n`);
  } catch (error) {
    await executor.dispose();
    await spawner.dispose();
    throw new CliError(
      `cannot serve on ${options.host}:${options.port}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  const stop = (): void => {
    process.removeListener('SIGTERM', stop);
    process.removeListener('SIGINT', stop);
    void (async () => {
      await executor.dispose();
      await spawner.dispose();
      await server.close();
    })();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** Builds `sallyport serve-tools`. */
export function serveToolsCommand(): Command {
  const command = new Command('serve-tools')
    .description('Serve npm tools over HTTP (TPMJS Executor Protocol 1.0).')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 picks one', portNumber, 7420)
    .option('--cache-dir <folder>', 'where packages and async executions are kept')
    .option('--registry <url>', 'registry to install from; npm configuration decides otherwise')
    .option('--auth-scope <scope>', 'default leaves /info open, all closes it', scope, 'default')
    .option('--allow-host <name>', 'a name that the server goes by in Host; may be given several times', collect, [])
    .option('--allow-origin <origin>', 'an origin whose pages may use it; may be given several times', collect, [])
    .option(
      '--allow-scripts <package>',
      'a package whose install scripts may run; may be given several times',
      collect,
      [],
    )
    .option('--deny <package>', 'a package that is never installed; may be given several times', collect, [])
    .option('--min-release-age <age>', 'how old a release must be, such as 24h or 7d', age, 0)
    .option(
      '--webhook-allow <host>',
      'a private host or network that webhooks may reach; may be given several times',
      collect,
      [],
    )
    .option('--region <name>', 'what /info says about where this runs');
  return withIsolationOptions(command)
    .addHelpText(
      'after',
      `
EXECUTOR_API_KEY is the bearer token; without it only this machine is served. The address is printed on standard output.

Example:
  $ EXECUTOR_API_KEY=secret sallyport serve-tools --host 0.0.0.0 --port 7420
`,
    )
    .action(serveTools);
}
