import type { StandardSchemaV1 } from '@standard-schema/spec';
import { defineTools, formatIssues, type Tool } from '../capabilities/index.js';
import { SallyportError } from '../errors/index.js';
import { printable, type WireValue } from '../wire/index.js';
import { MAX_ERROR_CHARS } from './limits.js';
import { isChunkWriter } from './session/sink.js';

/** A function of a guest, described by schemas: any Standard Schema, or a plain JSON Schema. */
export interface WasmFunction {
  readonly description?: string;
  readonly input?: unknown;
  readonly output?: unknown;
}

export type WasmFunctions = Readonly<Record<string, WasmFunction>>;

/** What a call takes: the input of the input schema. */
export type ParamsOf<F> = F extends { readonly input: infer S extends StandardSchemaV1 }
  ? StandardSchemaV1.InferInput<S>
  : unknown;

/** What a call returns: the output of the output schema. */
export type ReturnOf<F> = F extends { readonly output: infer S extends StandardSchemaV1 }
  ? StandardSchemaV1.InferOutput<S>
  : WireValue | undefined;

/** Options of one call. */
export interface CallOptions {
  /** Gives the call up. The guest is not told, as the protocol has no word for it; its answer is thrown away. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export type Caller<F> =
  undefined extends ParamsOf<F>
    ? (params?: ParamsOf<F>, options?: CallOptions) => Promise<ReturnOf<F>>
    : (params: ParamsOf<F>, options?: CallOptions) => Promise<ReturnOf<F>>;

export type Notifier<F> =
  undefined extends ParamsOf<F> ? (params?: ParamsOf<F>) => Promise<void> : (params: ParamsOf<F>) => Promise<void>;

export type Callers<F> = { readonly [Name in keyof F]: Caller<F[Name]> };
export type Notifiers<F> = { readonly [Name in keyof F]: Notifier<F[Name]> };

/** Compiles the schemas of functions, by name. */
export function compileFunctions(functions: WasmFunctions): ReadonlyMap<string, Tool> {
  const definitions = Object.entries(functions).map(([name, { input, output }]) => [
    name,
    { input, output, execute: () => undefined },
  ]);
  const provider = defineTools('guest', Object.fromEntries(definitions));
  return new Map([...provider.tools.values()].map((tool) => [tool.originalName, tool]));
}

/**
 * Checks what goes into a call. A Standard Schema sees the parameters as the caller gave them, streams and callbacks
 * included; a JSON Schema can only describe plain values, so it is asked with those left out.
 */
export async function checkParams({ originalName, input }: Tool, params: unknown): Promise<unknown> {
  if (input === undefined) return params;
  const checked = await input.validate(input.kind === 'json' ? plainPart(params) : params);
  if (!checked.ok) {
    const issues = printable(formatIssues('params', checked.issues), MAX_ERROR_CHARS);
    throw new SallyportError('WASM_PARAMS_INVALID', `the parameters of ${originalName} do not fit: ${issues}`, {
      function: originalName,
    });
  }
  return input.kind === 'json' ? params : checked.value;
}

/** Checks what came back. */
export async function checkResult({ originalName, output }: Tool, result: WireValue | undefined): Promise<unknown> {
  if (output === undefined) return result;
  const checked = await output.validate(result);
  if (checked.ok) return checked.value;
  const issues = printable(formatIssues('result', checked.issues), MAX_ERROR_CHARS);
  throw new SallyportError('WASM_RESULT_INVALID', `the result of ${originalName} does not fit its schema: ${issues}`, {
    function: originalName,
  });
}

/** A copy in which whatever becomes an id on the wire is a string already, as a JSON Schema describes it. */
function plainPart(value: unknown): unknown {
  if (typeof value === 'function') return 'callback';
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(plainPart);
  const prototype: unknown = Object.getPrototypeOf(value);
  if ((prototype !== Object.prototype && prototype !== null) || Symbol.asyncIterator in value || isChunkWriter(value)) {
    return 'stream';
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plainPart(item)]));
}
