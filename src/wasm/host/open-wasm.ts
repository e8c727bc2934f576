import type { Tool, ToolDefinitions, ToolProvider } from '../../capabilities/index.js';
import { SallyportError } from '../../errors/index.js';
import { confiningSpawner, DEFAULT_SEARCH_PATH, type Spawner } from '../../sandbox/index.js';
import {
  type Callers,
  type CallOptions,
  checkParams,
  checkResult,
  compileFunctions,
  type Notifiers,
  type WasmFunction,
  type WasmFunctions,
} from '../functions.js';
import { grantTools, providerOf } from '../grant.js';
import { CALL_TIMEOUT_MS, completeLimits, type WasmLimits } from '../limits.js';
import { checkModule, type ModuleReport } from '../module/inspect.js';
import { loadModule } from '../module/load.js';
import { builtInRuntime } from '../runtime/built-in.js';
import { externalRuntime } from '../runtime/external.js';
import type { RuntimeReport, WasmRuntime } from '../runtime/runtime.js';
import { refuseSinks } from '../session/sink.js';
import type { WasmEvent } from './events.js';
import type { GuestInstance } from './guest-instance.js';
import { GuestPool } from './guest-pool.js';
import { wasmRoomPolicy } from './room.js';

export type RuntimeName = 'builtin' | 'wasmtime' | 'wazero';

/** Several guests behind one client, for guests without state. */
export interface PoolSettings {
  /** Guests that serve at the same time. Default: 1. */
  readonly size?: number;
  /** Calls after which a guest is replaced. Default: never. */
  readonly recycleCalls?: number;
  /** Bytes in both directions after which a guest is replaced. Default: never. */
  readonly recycleBytes?: number;
}

export interface OpenWasmOptions<
  Functions,
  Inputs extends Record<string, unknown>,
  Outputs extends Record<string, unknown>,
> {
  /** The functions of the guest and their schemas. Left out, anything can be called and nothing is checked. */
  readonly functions?: Functions;
  /** What the guest may call, by name. Anything else ends it. */
  readonly grant?: ToolProvider | ToolDefinitions<Inputs, Outputs>;
  /** Default time of a call. 30 s unless told otherwise. */
  readonly timeoutMs?: number;
  readonly limits?: Partial<WasmLimits>;
  /** What runs the guest. `builtin` unless told otherwise. */
  readonly runtime?: RuntimeName | ((bytes: Uint8Array, limits: WasmLimits) => Promise<WasmRuntime>);
  /** The SHA-256 that the module must have, in hex. */
  readonly sha256?: string;
  /** Guests that are started ahead, so that a fresh one is there at once. Default: 0. */
  readonly warm?: number;
  readonly pool?: PoolSettings;
  readonly onEvent?: (event: WasmEvent) => void;
  /** The isolation level of the process: `process` (the default) or `container`. */
  readonly level?: string;
  /** Who starts the processes. One of its own unless told otherwise. */
  readonly spawner?: Spawner;
}

/** A guest to call. */
export interface WasmClient<Functions> extends AsyncDisposable {
  /** `client.call.add([1, 2])` */
  readonly call: Callers<Functions>;
  /** `client.notify.logEvent({ … })`: resolves when it was sent; nothing ever answers it. */
  readonly notify: Notifiers<Functions>;
  /** What runs the guest, and which limits that enforces. */
  readonly runtime: RuntimeReport;
  readonly module: ModuleReport;
  /** The processes that run right now, spares included. */
  readonly pids: readonly number[];
  /** Ends every guest: their input, a grace, then they are killed. Nothing stays behind. */
  dispose(): Promise<void>;
}

export type AnyFunctions = { readonly [name: string]: WasmFunction };

/** Opens a WASI command as a client. Checks the module first; the first guest is started by the first call, or by `warm`. */
export async function openWasm<
  const Functions extends WasmFunctions = AnyFunctions,
  Inputs extends Record<string, unknown> = Record<string, unknown>,
  Outputs extends Record<string, unknown> = Record<string, unknown>,
>(
  pathOrBytes: string | URL | Uint8Array,
  options: OpenWasmOptions<Functions, Inputs, Outputs> = {},
): Promise<WasmClient<Functions>> {
  const limits = completeLimits(options.limits);
  const functions = options.functions === undefined ? undefined : compileFunctions(options.functions);
  const grant = options.grant === undefined ? () => undefined : grantTools(providerOf(options.grant));
  const bytes = await loadModule(pathOrBytes, limits);
  const module = checkModule(bytes, limits, options.sha256);
  const runtime = await chooseRuntime(bytes, limits, options);
  const spawner = options.spawner ?? confiningSpawner(wasmRoomPolicy(runtime.files));
  const onEvent = (event: WasmEvent): void => {
    try {
      options.onEvent?.(event);
    } catch (error) {
      // A listener that fails is its owner's to hear of; the life of a guest goes on.
      queueMicrotask(() => {
        throw error;
      });
    }
  };
  const pool = new GuestPool({
    instance: { runtime, spawner, limits, grant, onEvent },
    size: positive('pool.size', options.pool?.size ?? 1),
    warm: options.warm ?? 0,
    recycleCalls: options.pool?.recycleCalls ?? Number.POSITIVE_INFINITY,
    recycleBytes: options.pool?.recycleBytes ?? Number.POSITIVE_INFINITY,
    onEvent,
  });
  const caller = new GuestCaller(pool, functions, options.timeoutMs ?? CALL_TIMEOUT_MS);
  let disposing: Promise<void> | undefined;
  const dispose = (): Promise<void> => {
    disposing ??= pool.dispose().then(async () => {
      if (options.spawner === undefined) await spawner.dispose();
      await runtime.dispose();
    });
    return disposing;
  };
  return {
    call: methods<Callers<Functions>>(
      functions,
      (name) => (params: unknown, settings?: CallOptions) => caller.call(name, params, settings),
    ),
    notify: methods<Notifiers<Functions>>(functions, (name) => (params: unknown) => caller.notify(name, params)),
    get runtime() {
      return runtime.report;
    },
    module,
    get pids() {
      return pool.guests.map((guest) => guest.pid);
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Calls through the pool, with schemas where there are any. */
class GuestCaller {
  readonly #pool: GuestPool;
  readonly #functions: ReadonlyMap<string, Tool> | undefined;
  readonly #timeoutMs: number;

  constructor(pool: GuestPool, functions: ReadonlyMap<string, Tool> | undefined, timeoutMs: number) {
    this.#pool = pool;
    this.#functions = functions;
    this.#timeoutMs = timeoutMs;
  }

  call(name: string, params: unknown, { signal, timeoutMs = this.#timeoutMs }: CallOptions = {}): Promise<unknown> {
    const limits = signal === undefined ? { timeoutMs } : { timeoutMs, signal };
    const schema = this.#schema(name);
    if (schema instanceof SallyportError) {
      refuseSinks(params, schema);
      return Promise.reject(schema);
    }
    if (schema?.input === undefined && schema?.output === undefined) {
      const guest = this.#pool.ready();
      if (guest !== undefined) return guest.call(name, params, limits);
    }
    return this.#callSlowly(name, params, limits, schema);
  }

  async notify(name: string, params: unknown): Promise<void> {
    const schema = this.#schema(name);
    if (schema instanceof SallyportError) {
      refuseSinks(params, schema);
      throw schema;
    }
    const { guest, checked } = await this.#prepare(params, schema);
    guest.notify(name, checked);
  }

  async #callSlowly(
    name: string,
    params: unknown,
    limits: { readonly timeoutMs: number; readonly signal?: AbortSignal },
    schema: Tool | undefined,
  ): Promise<unknown> {
    const { guest, checked } = await this.#prepare(params, schema);
    const result = await guest.call(name, checked, limits);
    return schema === undefined ? result : checkResult(schema, result);
  }

  /** Finds a guest for what fits. When there is none, or it does not fit, whoever reads a sink in it must not wait for ever. */
  async #prepare(
    params: unknown,
    schema: Tool | undefined,
  ): Promise<{ readonly guest: GuestInstance; readonly checked: unknown }> {
    try {
      const checked = schema === undefined ? params : await checkParams(schema, params);
      return { checked, guest: this.#pool.ready() ?? (await this.#pool.acquire()) };
    } catch (error) {
      refuseSinks(params, error);
      throw error;
    }
  }

  #schema(name: string): Tool | undefined | SallyportError {
    if (this.#functions === undefined) return undefined;
    const known = this.#functions.get(name);
    if (known !== undefined) return known;
    const list = [...this.#functions.keys()].join(', ');
    return new SallyportError('WASM_FUNCTION_UNKNOWN', `there is no function ${name} among: ${list}`, {
      function: name,
    });
  }
}

/**
 * An object with one method per function, or one for every name when the functions are not known. It is the one place where
 * the names in the type and the names at run time meet.
 */
function methods<Methods>(
  functions: ReadonlyMap<string, Tool> | undefined,
  method: (name: string) => (params: unknown, options?: CallOptions) => Promise<unknown>,
): Methods {
  const made = new Map<string, unknown>();
  const handler = {
    get(_target: object, name: string | symbol): unknown {
      // A promise would ask for `then`, and must hear that this is none.
      if (typeof name !== 'string' || (name === 'then' && functions?.has(name) !== true)) return undefined;
      let found = made.get(name);
      if (found === undefined) {
        found = method(name);
        made.set(name, found);
      }
      return found;
    },
    has: (_target: object, name: string | symbol) =>
      typeof name === 'string' && (functions === undefined || functions.has(name)),
    ownKeys: () => (functions === undefined ? [] : [...functions.keys()]),
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
  };
  return new Proxy(Object.create(null), handler);
}

function chooseRuntime(
  bytes: Uint8Array,
  limits: WasmLimits,
  options: Pick<OpenWasmOptions<unknown, Record<string, unknown>, Record<string, unknown>>, 'runtime' | 'level'>,
): Promise<WasmRuntime> {
  const { runtime = 'builtin', level = 'process' } = options;
  if (typeof runtime === 'function') return runtime(bytes, limits);
  if (runtime === 'builtin') return builtInRuntime(bytes, limits, level);
  if (runtime !== 'wasmtime' && runtime !== 'wazero') {
    return Promise.reject(
      new SallyportError(
        'WASM_RUNTIME_UNAVAILABLE',
        `there is no runtime ${String(runtime)}: use builtin, wasmtime or wazero`,
      ),
    );
  }
  return externalRuntime(runtime, bytes, limits, { searchPath: process.env['PATH'] ?? DEFAULT_SEARCH_PATH, level });
}

function positive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new TypeError(`${name} must be a whole number above 0, not ${value}`);
}
