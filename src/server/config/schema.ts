import { z } from 'zod';
import { DEFAULT_TOOL_LIMITS, type ToolLimits } from '../../tool/index.js';
import { BOUNDARIES, isKeyHash } from '../access/keys.js';
import { ISOLATIONS } from '../isolation.js';
import { ARRIVAL_LIMITS, DEFAULT_SERVER_LIMITS, type ServedToolLimits, type ServerLimits } from '../limits.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const count = z.int().min(0);
const positive = z.int().min(1);
const names = z.array(z.string().min(1));

/** An object whose keys are limits of a room. */
function limitsOf<Limits extends object>(defaults: Limits) {
  const shape: Record<string, z.ZodType> = {};
  for (const [name, value] of Object.entries(defaults)) {
    shape[name] = (typeof value === 'number' ? count : z.array(count)).exactOptional();
  }
  return z.strictObject(shape);
}

/** Refuses the limits of tools that would have no effect here. */
const arrivalLimits = Object.fromEntries(
  ARRIVAL_LIMITS.map((name) => {
    const instead = name in DEFAULT_SERVER_LIMITS ? `set limits.${name}` : 'it cannot be set';
    return [name, z.never(`one port serves all boundaries: ${instead}`).exactOptional()];
  }),
);

const KeySchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be letters, digits, dots, dashes and underscores'),
  hash: z.string().refine(isKeyHash, 'must be what `sallyport key create` prints: sha256: and 64 hex digits'),
  boundaries: z.array(z.enum(BOUNDARIES)).exactOptional(),
  ratePerMinute: positive.exactOptional(),
  concurrency: positive.exactOptional(),
  policy: z
    .strictObject({
      modules: names.exactOptional(),
      packages: names.exactOptional(),
      programs: names.exactOptional(),
    })
    .exactOptional(),
});

const RoomLimitsSchema = z.strictObject({
  memoryBytes: positive.exactOptional(),
  processes: positive.exactOptional(),
  cpuSeconds: positive.exactOptional(),
  fileSizeBytes: positive.exactOptional(),
  openFiles: positive.exactOptional(),
  tmpBytes: positive.exactOptional(),
});

const NetworkSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none') }),
  z.strictObject({ kind: z.literal('loopback') }),
  z.strictObject({ kind: z.literal('allow'), hosts: names }),
  z.strictObject({ kind: z.literal('full'), hosts: names.exactOptional() }),
  z.strictObject({ kind: z.literal('host') }),
]);

/** What is different from the policy that a boundary has by itself at the level `container`. */
const RoomSchema = z.strictObject({ limits: RoomLimitsSchema.exactOptional() });
const NetworkedRoomSchema = RoomSchema.extend({ network: NetworkSchema.exactOptional() });

/** Every setting of `sallyport serve`. */
export const ConfigSchema = z.strictObject({
  host: z.string().min(1).exactOptional(),
  port: z.int().min(0).max(65_535).exactOptional(),
  apiKey: z.string().min(1).exactOptional(),
  keys: z
    .array(KeySchema)
    .refine((keys) => new Set(keys.map(({ name }) => name)).size === keys.length, 'two keys have the same name')
    .exactOptional(),
  isolation: z.enum(ISOLATIONS).exactOptional(),
  workspace: names.exactOptional(),
  policies: z
    .strictObject({
      guest: RoomSchema.exactOptional(),
      wasm: RoomSchema.exactOptional(),
      tool: NetworkedRoomSchema.exactOptional(),
      process: NetworkedRoomSchema.exactOptional(),
    })
    .exactOptional(),
  cacheDir: z.string().min(1).exactOptional(),
  tools: z.string().min(1).exactOptional(),
  wasm: z.string().min(1).exactOptional(),
  allowOrigin: z.array(z.url()).exactOptional(),
  allowHost: names.exactOptional(),
  info: z.enum(['open', 'guarded']).exactOptional(),
  registry: z.url().exactOptional(),
  logLevel: z.enum(LOG_LEVELS).exactOptional(),
  drainTimeoutMs: count.exactOptional(),
  limits: limitsOf<ServerLimits>(DEFAULT_SERVER_LIMITS).exactOptional(),
  toolLimits: limitsOf<ToolLimits>(DEFAULT_TOOL_LIMITS).extend(arrivalLimits).exactOptional(),
  toolPolicy: z
    .strictObject({
      allowScripts: names.exactOptional(),
      deny: names.exactOptional(),
      minReleaseAgeMs: count.exactOptional(),
      webhookAllow: names.exactOptional(),
    })
    .exactOptional(),
  exec: z
    .strictObject({
      fileSystem: z.enum(['on', 'off']).exactOptional(),
      http: z.enum(['on', 'off']).exactOptional(),
      sandboxRequests: z.enum(['refuse', 'ignore']).exactOptional(),
    })
    .exactOptional(),
});

/** The configuration, as a file has it. */
export type ServeConfig = Omit<z.output<typeof ConfigSchema>, 'limits' | 'toolLimits'> & {
  readonly limits?: Partial<ServerLimits>;
  readonly toolLimits?: Partial<ServedToolLimits>;
};

/** Types the configuration of a module: `export default defineConfig({ … })`. */
export function defineConfig(config: ServeConfig): ServeConfig {
  return config;
}
