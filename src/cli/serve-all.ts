import { constants } from 'node:os';
import { type Logger, pino } from 'pino';
import { isSallyportError } from '../errors/index.js';
import {
  createServer,
  DEFAULT_SERVER_LIMITS,
  hashKey,
  type Key,
  keyProblem,
  type LayeredConfig,
  layerConfig,
  type SallyportServer,
  type ServeConfig,
  SPARE_HANDLES,
} from '../server/index.js';
import { banner } from './banner.js';
import { CliError, EXIT } from './exit.js';
import { checkFileHandles } from './file-handles.js';
import { readConfig } from './read-config.js';
import { defaultToolCache } from './tool-cache.js';
import { loadTools } from './tools-module.js';

export interface ServeFlags {
  readonly host?: string;
  readonly port?: number;
  readonly apiKey?: string;
  readonly isolation?: 'auto' | 'process' | 'container';
  readonly workspace?: readonly string[];
  readonly cacheDir?: string;
  readonly tools?: string;
  readonly wasm?: string;
  readonly registry?: string;
  readonly allowOrigin?: readonly string[];
  readonly allowHost?: readonly string[];
  readonly logLevel?: string;
  readonly drainTimeout?: number;
  readonly config?: string;
  readonly printConfig?: true;
}

const DRAIN_TIMEOUT_MS = 30_000;
const API_KEY_NAME = 'default';
/** Wherever one of these turns up in a log line, its value does not. */
const SECRET_FIELDS = ['authorization', 'apiKey', 'api_key', 'token', 'secret', 'password', 'cookie'];

/** Puts together what `serve` was told, by flags, environment and file. */
async function settle(flags: ServeFlags): Promise<LayeredConfig> {
  const { config: flag, printConfig: _print, drainTimeout, ...rest } = flags;
  const path = flag ?? process.env['SALLYPORT_CONFIG'];
  const file = path === undefined || path === '' ? undefined : { path, config: await readConfig(path) };
  const own: Record<string, unknown> = drainTimeout === undefined ? rest : { ...rest, drainTimeoutMs: drainTimeout };
  try {
    return layerConfig({
      defaults: {
        host: '127.0.0.1',
        port: 7420,
        isolation: 'auto',
        cacheDir: defaultToolCache(),
        drainTimeoutMs: DRAIN_TIMEOUT_MS,
        logLevel: process.stdout.isTTY ? 'warn' : 'info',
      },
      file,
      environment: process.env,
      flags: own,
    });
  } catch (error) {
    if (isSallyportError(error, 'SERVER_CONFIG')) throw new CliError(error.message);
    throw error;
  }
}

function keysOf({ apiKey, keys = [] }: ServeConfig): readonly Key[] {
  if (apiKey === undefined) return keys;
  const problem = keyProblem(apiKey);
  if (problem !== undefined) {
    throw new CliError(`${problem}: \`sallyport key create ${API_KEY_NAME}\` makes one, or leave it out on 127.0.0.1`);
  }
  return [{ name: API_KEY_NAME, hash: hashKey(apiKey) }, ...keys];
}

/** The settings and their origins, as they are printed. Secrets are not. */
function printed({ config, origins }: LayeredConfig): string {
  const entries = Object.entries(config).map(([key, value]) => {
    const origin = origins.get(key);
    const from = origin === undefined || origin.name === '' ? 'default' : `${origin.from} ${origin.name}`;
    return [key, { value: key === 'apiKey' ? '(set)' : value, from }];
  });
  return JSON.stringify(Object.fromEntries(entries), undefined, 2);
}

function openLog(level: string): Logger {
  // On a terminal the banner has standard output; elsewhere the lines are what this program puts out.
  const destination = pino.destination({ fd: process.stdout.isTTY ? 2 : 1, sync: false });
  const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]);
  return pino({ level, redact: { paths, censor: '[redacted]' } }, destination);
}

async function open(config: ServeConfig, file: string | undefined, logger: Logger): Promise<SallyportServer> {
  const { host, port, isolation, cacheDir, wasm, tools, allowOrigin, allowHost, info, registry } = config;
  const { limits, toolLimits, toolPolicy, exec, apiKey, workspace, policies } = config;
  // Code and settings that the server reads again at its next start.
  const protect = [tools ?? '', file ?? ''].filter((path) => path !== '');
  const providers = tools === undefined ? undefined : await loadTools(tools);
  return createServer({
    host,
    port,
    isolation,
    workspace,
    policies,
    protect,
    wasmDir: wasm,
    allowOrigin,
    allowHost,
    info,
    registry,
    limits,
    toolLimits,
    toolPolicy,
    exec,
    providers,
    cacheDir: cacheDir ?? defaultToolCache(),
    keys: keysOf(config),
    logger,
    secrets: apiKey === undefined ? [] : [apiKey],
  });
}

/** Serves all four boundaries until a signal comes. */
export async function serveAll(flags: ServeFlags): Promise<void> {
  const settled = await settle(flags);
  const { config } = settled;
  if (flags.printConfig) {
    process.stdout.write(`${printed(settled)}\n`);
    return;
  }
  const keys = keysOf(config);
  const { connections } = { ...DEFAULT_SERVER_LIMITS, ...config.limits };
  checkFileHandles(connections + SPARE_HANDLES);
  const logger = openLog(config.logLevel ?? 'info');
  let server: SallyportServer | undefined;
  let url: string;
  try {
    server = await open(config, flags.config ?? process.env['SALLYPORT_CONFIG'], logger);
    url = await server.listen();
  } catch (error) {
    await server?.dispose();
    if (isSallyportError(error)) throw new CliError(`${error.message}${remedyOf(error.code)}`);
    throw error;
  }
  // Before anybody is told that there is a server: from then on it may be sent one.
  untilSignals(server, flags, config.drainTimeoutMs ?? DRAIN_TIMEOUT_MS, logger);
  const { isolation, modules } = server;
  if (process.stdout.isTTY) {
    process.stdout.write(banner({ url, isolation, modules, key: keys.length > 0 ? 'needed' : 'not needed' }));
  } else {
    const { asked, levels, enforced, limits, shortfall } = isolation;
    logger.info({ url, auth: keys.length > 0 ? 'bearer' : 'none', keys: keys.map(({ name }) => name) }, 'listening');
    logger.info({ asked, levels, enforced, limits, shortfall }, 'isolation');
  }
}

function remedyOf(code: string): string {
  switch (code) {
    case 'SERVER_LISTEN':
      return '; choose another with --port, or --port 0 for any free one';
    case 'SERVER_ISOLATION':
      return '; or take what there is with --isolation auto';
    case 'TOOL_CACHE_UNUSABLE':
      return '; make it writable, or name another one with --cache-dir';
    default:
      return '';
  }
}

function untilSignals(server: SallyportServer, flags: ServeFlags, drainTimeoutMs: number, logger: Logger): void {
  let draining = false;
  const end = (signal: 'SIGTERM' | 'SIGINT'): void => {
    if (draining) {
      logger.warn({ signal }, 'ended at once');
      logger.flush();
      // Whoever guards the children ends them when this process is gone.
      process.exit(128 + constants.signals[signal]);
    }
    draining = true;
    logger.info({ signal, drainTimeoutMs, running: server.trail.active }, 'draining');
    void server.drain(drainTimeoutMs).then(
      () => finish(EXIT.ok, 'stopped'),
      (error: unknown) => finish(EXIT.failure, error instanceof Error ? error.message : String(error)),
    );
  };
  const finish = (code: number, message: string): void => {
    logger.info(message);
    logger.flush(() => process.exit(code));
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(signal));
  process.on('SIGHUP', () => {
    // What was there before stays in force when anything is wrong with what is there now.
    reload(server, flags, logger).catch((error: unknown) =>
      logger.error({ reason: error instanceof Error ? error.message : String(error) }, 'reload failed'),
    );
  });
}

async function reload(server: SallyportServer, flags: ServeFlags, logger: Logger): Promise<void> {
  const { config } = await settle(flags);
  const keys = keysOf(config);
  const restart = server.reload({ keys, limits: config.limits ?? {} });
  logger.info({ keys: keys.map(({ name }) => name) }, 'keys and limits were read again');
  if (restart.length > 0) logger.warn({ limits: restart }, 'these limits change with the next start only');
}
