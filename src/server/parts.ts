import type { ToolProvider } from '../capabilities/index.js';
import { SallyportError } from '../errors/index.js';
import { createExecutor, createRunnerShells, type Executor, type RunnerShells } from '../guest/index.js';
import { createExecServer, type ExecPolicy, type ExecServer } from '../process/index.js';
import { createToolExecutor, DEFAULT_TOOL_LIMITS, type ToolExecutor } from '../tool/index.js';
import { Admissions } from './access/admissions.js';
import type { KeyRing } from './access/keys.js';
import { Quotas } from './access/quotas.js';
import { watchTool } from './audit/tool-watcher.js';
import { AuditTrail } from './audit/trail.js';
import type { Confinement, Isolation } from './isolation.js';
import type { ServerLimits } from './limits.js';
import { LiveLimits } from './live-limits.js';
import type { ServerOptions } from './options.js';
import { observeExec, type SessionCallers } from './sockets/exec.js';
import { WasmModules } from './wasm/modules.js';

/** The provider whose tools Wasm modules may call. */
const WASM_GRANT = 'host';

/** What the paths of a server are made of. */
export interface Parts {
  readonly limits: ServerLimits;
  /** The same limits, for who may change them. */
  readonly live: LiveLimits;
  readonly isolation: Isolation;
  /** Who starts the processes of each boundary. */
  readonly spawners: Confinement['spawners'];
  readonly trail: AuditTrail;
  readonly quotas: Quotas;
  readonly admissions: Admissions;
  /** The tools that programs of `POST /run` are offered. */
  readonly providers: readonly ToolProvider[];
  readonly executor: Executor;
  readonly shells: RunnerShells;
  readonly execServer: ExecServer;
  readonly tools: ToolExecutor;
  readonly modules: WasmModules;
}

/** What the parts are made of. */
interface Ingredients {
  readonly options: ServerOptions;
  readonly confinement: Confinement;
  /** What commands may reach where they are confined. */
  readonly execPolicy: ExecPolicy;
  readonly keys: KeyRing;
  readonly sessions: SessionCallers;
}

/** Makes all parts of a server, or none. Rejects with SERVER_CONFIG or TOOL_CACHE_UNUSABLE. */
export async function createParts({ options, confinement, execPolicy, keys, sessions }: Ingredients): Promise<Parts> {
  const { isolation, spawners } = confinement;
  const live = new LiveLimits(options.limits);
  const limits = live.values;
  const secrets = (options.secrets ?? []).filter((secret) => secret !== '');
  const scrub = (text: string): string =>
    secrets.reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text);
  const trail = new AuditTrail({ limits, scrub });
  const quotas = new Quotas(keys, trail);
  const providers = options.providers ?? [];
  const toolLimits = { ...DEFAULT_TOOL_LIMITS, ...options.toolLimits };
  const { levels } = isolation;
  const network = options.policies?.tool?.network;
  const tools = createToolExecutor({
    cacheDir: options.cacheDir,
    spawner: spawners.tool,
    level: levels.tool,
    limits: toolLimits,
    onExecution: watchTool({ trail, keys, quotas, limits: toolLimits, level: levels.tool }),
    ...(options.registry === undefined ? {} : { registry: options.registry }),
    policy: { ...options.toolPolicy, ...(network === undefined ? {} : { network }) },
  });
  try {
    const modules = await WasmModules.open({
      folder: options.wasmDir,
      level: levels.wasm,
      spawner: spawners.wasm,
      limits,
      grant: providers.find(({ name }) => name === WASM_GRANT),
    }).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new SallyportError('SERVER_CONFIG', `the folder of Wasm modules cannot be read: ${reason}`);
    });
    const guests = { isolation: levels.guest, size: limits.guests, spawner: spawners.guest };
    return {
      limits,
      live,
      isolation,
      spawners,
      trail,
      quotas,
      admissions: new Admissions(),
      providers,
      tools,
      modules,
      executor: createExecutor({ ...guests, maxQueued: limits.queuedRuns }),
      shells: createRunnerShells(guests),
      execServer: createExecServer({
        ...options.exec,
        spawner: spawners.process,
        level: levels.process,
        ...(levels.process === 'container' ? { policy: execPolicy } : {}),
        observer: observeExec(sessions, { trail, quotas, isolation }),
      }),
    };
  } catch (error) {
    await tools.dispose();
    await Promise.all(Object.values(spawners).map((spawner) => spawner.dispose()));
    throw error;
  }
}
