import type { Logger } from 'pino';
import type { ToolProvider } from '../capabilities/index.js';
import type { ExecServerOptions } from '../process/index.js';
import type { NetworkPolicy, ResourceLimits } from '../sandbox/index.js';
import type { ToolPolicy } from '../tool/index.js';
import type { Key } from './access/keys.js';
import type { IsolationName } from './isolation.js';
import type { ServedToolLimits, ServerLimits } from './limits.js';

/** What differs in the policy of each boundary. */
export interface BoundaryPolicies {
  readonly guest?: { readonly limits?: ResourceLimits };
  readonly wasm?: { readonly limits?: ResourceLimits };
  readonly tool?: { readonly limits?: ResourceLimits; readonly network?: NetworkPolicy };
  readonly process?: { readonly limits?: ResourceLimits; readonly network?: NetworkPolicy };
}

/** What a server is made with. */
export interface ServerOptions {
  /** The address to listen on. Default: 127.0.0.1. One that others can reach needs a key. */
  readonly host?: string | undefined;
  /** Default: 7420; 0 for any free one. */
  readonly port?: number | undefined;
  /** Without any, only this machine is served. */
  readonly keys?: readonly Key[] | undefined;
  /** Default: `auto`. */
  readonly isolation?: IsolationName | undefined;
  /**
   * Folders where commands may work and write at the level `container`. None named: the working folder of each command,
   * where it harms nobody.
   */
  readonly workspace?: readonly string[] | undefined;
  /** What the boundaries may reach at the level `container`, where it differs from what they have by themselves. */
  readonly policies?: BoundaryPolicies | undefined;
  /** Files and folders that commands must never change, besides those of the server itself: modules that it loads, say. */
  readonly protect?: readonly string[] | undefined;
  /** Where packages and asynchronous executions are kept. */
  readonly cacheDir: string;
  /** What programs of `POST /run` are offered. Those of a provider named `host` are also granted to Wasm modules. */
  readonly providers?: readonly ToolProvider[] | undefined;
  /** A folder of Wasm modules, served by their names. */
  readonly wasmDir?: string | undefined;
  /** Pages that may use the server. */
  readonly allowOrigin?: readonly string[] | undefined;
  /** Names in `Host` that the server goes by, besides those of this machine to itself. */
  readonly allowHost?: readonly string[] | undefined;
  /** Whether `/info` needs a key. Default: `open`. */
  readonly info?: 'open' | 'guarded' | undefined;
  /** The registry that tools are installed from. */
  readonly registry?: string | undefined;
  readonly limits?: Partial<ServerLimits> | undefined;
  readonly toolLimits?: Partial<ServedToolLimits> | undefined;
  /** The network of tools is in `policies`. */
  readonly toolPolicy?: Partial<Omit<ToolPolicy, 'network'>> | undefined;
  readonly exec?:
    | Pick<ExecServerOptions, 'limits' | 'fileSystem' | 'http' | 'networkPolicy' | 'sandboxRequests'>
    | undefined;
  /** Whether processes are started ahead of the first request. Default: `background`. */
  readonly prewarm?: 'background' | 'never' | undefined;
  readonly logger?: Logger | undefined;
  /** Texts that must not show up in the audit trail: the keys, where they are known. */
  readonly secrets?: readonly string[] | undefined;
}
