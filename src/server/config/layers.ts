import { SallyportError } from '../../errors/index.js';
import { checkConfig } from './parse.js';
import type { ServeConfig } from './schema.js';

export type Origin = 'default' | 'file' | 'environment' | 'flag';

/** A configuration, and where each value came from. */
export interface LayeredConfig {
  readonly config: ServeConfig;
  readonly origins: ReadonlyMap<string, { readonly from: Origin; readonly name: string }>;
}

interface Variable {
  readonly key: keyof ServeConfig;
  readonly kind: 'text' | 'number' | 'list';
}

/** The variables that are looked at, and what each sets. */
export const VARIABLES: Readonly<Record<string, Variable>> = {
  SALLYPORT_HOST: { key: 'host', kind: 'text' },
  SALLYPORT_PORT: { key: 'port', kind: 'number' },
  EXECUTOR_API_KEY: { key: 'apiKey', kind: 'text' },
  SALLYPORT_ISOLATION: { key: 'isolation', kind: 'text' },
  SALLYPORT_WORKSPACE: { key: 'workspace', kind: 'list' },
  SALLYPORT_CACHE_DIR: { key: 'cacheDir', kind: 'text' },
  SALLYPORT_TOOLS: { key: 'tools', kind: 'text' },
  SALLYPORT_WASM: { key: 'wasm', kind: 'text' },
  SALLYPORT_ALLOW_ORIGIN: { key: 'allowOrigin', kind: 'list' },
  SALLYPORT_ALLOW_HOST: { key: 'allowHost', kind: 'list' },
  SALLYPORT_REGISTRY: { key: 'registry', kind: 'text' },
  SALLYPORT_LOG_LEVEL: { key: 'logLevel', kind: 'text' },
  SALLYPORT_DRAIN_TIMEOUT_MS: { key: 'drainTimeoutMs', kind: 'number' },
};

function read(name: string, text: string, { kind }: Variable): unknown {
  if (kind === 'text') return text;
  if (kind === 'list') return text.split(',').map((part) => part.trim());
  if (/^\d+$/.test(text)) return Number(text);
  throw new SallyportError('SERVER_CONFIG', `${name} must be a whole number, not ${JSON.stringify(text.slice(0, 40))}`);
}

/** What the environment sets. An empty variable sets nothing. */
function fromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Map<keyof ServeConfig, [string, unknown]> {
  const values = new Map<keyof ServeConfig, [string, unknown]>();
  for (const [name, variable] of Object.entries(VARIABLES)) {
    const text = environment[name];
    if (text === undefined || text === '') continue;
    const value = read(name, text, variable);
    checkConfig({ [variable.key]: value }, name);
    values.set(variable.key, [name, value]);
  }
  return values;
}

export interface Layers {
  readonly defaults: ServeConfig;
  readonly file?: { readonly path: string; readonly config: ServeConfig } | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly flags: ServeConfig;
}

/** Puts the layers on top of each other: flags over environment over file over defaults. Throws SERVER_CONFIG. */
export function layerConfig({ defaults, file, environment, flags }: Layers): LayeredConfig {
  const origins = new Map<string, { from: Origin; name: string }>();
  const values = new Map<string, unknown>();
  const put = (key: string, value: unknown, from: Origin, name: string): void => {
    if (value === undefined) return;
    values.set(key, value);
    origins.set(key, { from, name });
  };
  for (const [key, value] of Object.entries(defaults)) put(key, value, 'default', '');
  for (const [key, value] of Object.entries(file?.config ?? {})) put(key, value, 'file', file?.path ?? '');
  for (const [key, [name, value]] of fromEnvironment(environment)) put(key, value, 'environment', name);
  for (const [key, value] of Object.entries(flags)) {
    const flag = `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    put(key, value, 'flag', flag);
  }
  for (const [key, value] of Object.entries(flags))
    if (value !== undefined) checkConfig({ [key]: value }, 'the command line');
  return { config: checkConfig(Object.fromEntries(values), 'the configuration'), origins };
}
