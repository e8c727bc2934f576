import type { ToolProvider } from '../capabilities/index.js';
import type { Executor, RunnerShells } from '../guest/index.js';
import type { ExecServer } from '../process/index.js';
import type { Spawner } from '../sandbox/index.js';
import type { ToolExecutor } from '../tool/index.js';
import type { Quotas } from './access/quotas.js';
import type { AuditTrail } from './audit/trail.js';
import type { Isolation } from './isolation.js';
import type { ServerLimits } from './limits.js';
import type { WasmModules } from './wasm/modules.js';

/** What the paths of a server are made of. */
export interface Parts {
  readonly limits: ServerLimits;
  readonly isolation: Isolation;
  readonly spawner: Spawner;
  readonly trail: AuditTrail;
  readonly quotas: Quotas;
  /** The tools that programs of `POST /run` are offered. */
  readonly providers: readonly ToolProvider[];
  readonly executor: Executor;
  readonly shells: RunnerShells;
  readonly execServer: ExecServer;
  readonly tools: ToolExecutor;
  readonly modules: WasmModules;
}
