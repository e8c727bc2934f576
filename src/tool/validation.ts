import type { Bundler } from './bundler.js';
import type { CallOptions } from './calls.js';
import type { ToolDescription } from './child/protocol.js';
import { failure, failureFields, failureOf, ToolFailureError } from './failure.js';
import type { FairQueue } from './fair-queue.js';
import { failureOfJob } from './install/failure-of-job.js';
import type { Installer } from './install/installer.js';
import type { ResolvedPackage } from './install/jobs.js';
import type { Resolver } from './install/resolver.js';
import { checkIntegrity } from './integrity.js';
import type { ToolLimits } from './limits.js';
import type {
  LoadAndDescribeRequest,
  LoadAndDescribeResponse,
  ToolErrorBody,
  ToolErrorCode,
  ValidateToolRequest,
  ValidateToolResponse,
} from './messages.js';
import type { ToolPolicy } from './policy.js';
import { checkEnv, checkTimeout } from './request.js';
import type { ToolRuns } from './tool-runs.js';
import type { Trees } from './trees.js';

export interface ValidationParts {
  readonly installer: Installer;
  readonly resolver: Resolver;
  readonly trees: Trees;
  readonly runs: ToolRuns;
  readonly bundler: Bundler;
  readonly slots: FairQueue;
  readonly limits: ToolLimits;
  readonly policy: ToolPolicy;
}

/** Versions whose full metadata is remembered: it never changes, but it may be large. */
const MAX_REMEMBERED = 200;

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** What the package's manifest says of a tool. */
function declaredTool(tpmjs: unknown, name: string): Fields | undefined {
  const tools = isFields(tpmjs) ? tpmjs['tools'] : undefined;
  if (!Array.isArray(tools)) return undefined;
  for (const tool of tools) {
    if (tool === name) return { name };
    if (isFields(tool) && [tool['name'], tool['exportName'], tool['export']].includes(name)) return tool;
  }
  return undefined;
}

/** The variables that the manifest says a tool needs. */
function requiredEnv(tpmjs: unknown, tool: Fields | undefined): string[] {
  const lists = [isFields(tpmjs) ? tpmjs['env'] : undefined, tool?.['env']];
  const names = lists.flatMap((list) => {
    if (!Array.isArray(list)) return [];
    return list.flatMap((entry: unknown) => {
      if (typeof entry === 'string') return [entry];
      if (!isFields(entry) || entry['required'] === false) return [];
      const name = textOf(entry['name']);
      return name === undefined ? [] : [name];
    });
  });
  return [...new Set(names)];
}

/** Failures that say something about the tool. All others are those of the request, or of the executor. */
const ABOUT_THE_TOOL: ReadonlySet<ToolErrorCode> = new Set([
  'PACKAGE_NOT_FOUND',
  'INTEGRITY_MISMATCH',
  'TOOL_NOT_FOUND',
  'TOOL_INVALID',
  'TOOL_EXECUTION_ERROR',
  'EXECUTION_TIMEOUT',
]);

/** Looks at tools without running them. */
export class Validation {
  readonly #parts: ValidationParts;
  readonly #remembered = new Map<string, ResolvedPackage>();

  constructor(parts: ValidationParts) {
    this.#parts = parts;
  }

  /** Reads what the registry knows; with `deep` also imports the package in the sandbox. Rejects with a failure of the protocol. */
  async validate(
    request: ValidateToolRequest,
    options: CallOptions,
    signal: AbortSignal,
  ): Promise<ValidateToolResponse> {
    const started = performance.now();
    checkEnv(request.env, this.#parts.limits);
    checkTimeout(request.timeoutMs, this.#parts.limits);
    const resolved = await this.#metadata(request, options);
    checkIntegrity(request.integrity, resolved.integrity, `${resolved.name}@${resolved.version}`);
    const declared = declaredTool(resolved.tpmjs, request.name);
    const problems: ToolErrorBody[] = [];
    let found: ToolDescription | undefined;
    if (request.deep) {
      try {
        found = await this.#look({ ...request, version: resolved.version }, options, signal);
      } catch (error) {
        const failed = failureOf(error);
        if (!ABOUT_THE_TOOL.has(failed.code)) throw error;
        problems.push(failureFields(failed).error);
      }
    }
    const missingEnv = requiredEnv(resolved.tpmjs, declared).filter((name) => !Object.hasOwn(request.env, name));
    const description = found?.description ?? textOf(declared?.['description']) ?? resolved.description;
    const inputSchema = found?.inputSchema ?? declared?.['inputSchema'];
    const foundBy = found?.foundBy ?? (declared === undefined ? undefined : 'declared');
    const { name, version, integrity, license } = resolved;
    return {
      success: true,
      valid: problems.length === 0 && missingEnv.length === 0 && found?.params?.fit !== false,
      packageName: name,
      name: request.name,
      resolved: { version, ...(integrity === undefined ? {} : { integrity }) },
      installScripts: resolved.hasInstallScript,
      ...(license === undefined ? {} : { license }),
      ...(foundBy === undefined ? {} : { foundBy }),
      ...(description === undefined ? {} : { description }),
      ...(inputSchema === undefined ? {} : { inputSchema }),
      missingEnv,
      ...(found?.params === undefined
        ? {}
        : { params: { fit: found.params.fit, problems: [...found.params.problems] } }),
      problems,
      executionTimeMs: Math.round(performance.now() - started),
    };
  }

  /** Describes a tool as protocol 1.1 does. Rejects with a failure of the protocol. */
  async describe(
    request: LoadAndDescribeRequest,
    options: CallOptions,
    signal: AbortSignal,
  ): Promise<LoadAndDescribeResponse> {
    const found = await this.#look({ ...request, params: undefined }, options, signal);
    const { description, inputSchema, version, integrity } = found;
    return {
      success: true,
      tool: {
        exportName: request.name,
        ...(description === undefined ? {} : { description }),
        ...(inputSchema === undefined ? {} : { inputSchema }),
      },
      resolved: { version, ...(integrity === undefined ? {} : { integrity }) },
    };
  }

  /** Imports the package in the sandbox and looks at the tool. */
  async #look(
    request: Omit<ValidateToolRequest, 'deep'>,
    options: CallOptions,
    signal: AbortSignal,
  ): Promise<ToolDescription & { readonly version: string; readonly integrity: string | undefined }> {
    const { trees, runs, bundler, slots, limits } = this.#parts;
    checkEnv(request.env, limits);
    const timeoutMs = checkTimeout(request.timeoutMs, limits);
    const acquired = await trees.acquire(request, { signal, ...options, onPhase: () => {}, onProgress: () => {} });
    using lease = acquired.lease;
    const slot = await slots.acquire(options.lane, signal);
    try {
      const { result } = await runs.runBest(
        lease.tree,
        bundler,
        { mode: 'describe', name: request.name, params: request.params ?? undefined, env: request.env, toolCallId: '' },
        { timeoutMs, signal },
      );
      if (result.kind === 'described')
        return { ...result.tool, version: lease.tree.version, integrity: lease.tree.integrity };
      throw new ToolFailureError(
        result.kind === 'failed'
          ? result.failure
          : { code: 'INTERNAL_ERROR', message: 'the child answered another question' },
      );
    } finally {
      slot.release();
    }
  }

  async #metadata(request: ValidateToolRequest, options: CallOptions): Promise<ResolvedPackage> {
    const { installer, resolver, policy } = this.#parts;
    // Denied and missing packages are refused in one place.
    const { name, version } = await resolver.resolve(request.packageName, request.version, options.freshness);
    const key = `${name}@${version}`;
    if (options.freshness.kind === 'only-if-cached') {
      const known = this.#remembered.get(key);
      if (known !== undefined) return known;
      throw failure('NOT_CACHED', `the metadata of ${key} is not known here, and the request says only-if-cached`, {
        phase: 'resolve',
      });
    }
    const before = policy.minReleaseAgeMs > 0 ? new Date(Date.now() - policy.minReleaseAgeMs).toISOString() : undefined;
    try {
      const found = await installer.resolve({ name, version, before, freshness: 'cached', detail: 'full' });
      this.#remember(key, found);
      return found;
    } catch (error) {
      throw failureOfJob(error, key, 'resolve');
    }
  }

  #remember(key: string, found: ResolvedPackage): void {
    this.#remembered.delete(key);
    this.#remembered.set(key, found);
    const oldest = this.#remembered.size > MAX_REMEMBERED ? this.#remembered.keys().next().value : undefined;
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }
}
