import { SallyportError } from '../errors/index.js';
import { compileJsonSchema } from './json-schema.js';
import { assertNamespace, assertToolName, sanitizeToolNames } from './names.js';
import { type CompiledSchema, type InputOf, isStandardSchema, type JsonSchema, type ResultOf } from './schema.js';
import { compileStandardSchema } from './standard-schema.js';

/** What a tool is told about the call it answers. */
export interface ToolContext {
  /** Fires when the call is no longer wanted: stop, and release what you hold. */
  readonly signal: AbortSignal;
  readonly namespace: string;
  /** The name as the host defined it. */
  readonly toolName: string;
  /** The name as the guest sees it. */
  readonly safeToolName: string;
  readonly callId: string;
  readonly executionId?: string;
}

type MaybePromise<T> = T | PromiseLike<T>;

/** A tool as an object. `execute` is typed by the schemas. */
export interface ToolDefinition<Input = unknown, Output = unknown> {
  /** What it does, for the model that reads the declarations. */
  readonly description?: string;
  readonly input?: Input;
  readonly output?: Output;
  execute(input: InputOf<Input>, context: ToolContext): MaybePromise<ResultOf<Output>>;
}

/** A tool as a function: nothing checks its input or its result but that they can cross the boundary. */
export type ToolFunction = ToolDefinition['execute'];

/** Tool definitions by name, typed by their schemas. */
export type ToolDefinitions<Inputs, Outputs> = {
  readonly [Name in keyof Inputs]: { readonly input?: Inputs[Name] };
} & {
  readonly [Name in keyof Outputs]: { readonly output?: Outputs[Name] };
} & {
  readonly [Name in keyof Inputs | keyof Outputs]:
    | ToolDefinition<
        Name extends keyof Inputs ? Inputs[Name] : unknown,
        Name extends keyof Outputs ? Outputs[Name] : unknown
      >
    | ToolFunction;
};

/** One granted tool, ready to be called. */
export interface Tool {
  readonly safeName: string;
  readonly originalName: string;
  readonly description?: string;
  readonly input?: CompiledSchema;
  readonly output?: CompiledSchema;
  readonly execute: (input: unknown, context: ToolContext) => unknown;
}

/** The tools of one namespace, by safe name. A `Map`, so that no inherited property is ever a tool. */
export interface ToolProvider {
  readonly name: string;
  readonly tools: ReadonlyMap<string, Tool>;
}

/** Defines the tools of one namespace. A bad name or schema throws here, and says which tool. */
export function defineTools<Inputs extends Record<string, unknown>, Outputs extends Record<string, unknown>>(
  namespace: string,
  definitions: ToolDefinitions<Inputs, Outputs>,
): ToolProvider {
  assertNamespace(namespace);
  const entries = new Map<string, unknown>(Object.entries(definitions));
  for (const name of entries.keys()) assertToolName(namespace, name);
  const tools = new Map<string, Tool>();
  for (const [safeName, originalName] of sanitizeToolNames(entries.keys())) {
    tools.set(safeName, defineTool({ namespace, safeName, originalName }, entries.get(originalName)));
  }
  return Object.freeze({ name: namespace, tools });
}

interface Identity {
  readonly namespace: string;
  readonly safeName: string;
  readonly originalName: string;
}

function defineTool(identity: Identity, definition: unknown): Tool {
  const { safeName, originalName } = identity;
  if (typeof definition === 'function') {
    return Object.freeze({
      safeName,
      originalName,
      execute: (input, context) => Reflect.apply(definition, undefined, [input, context]),
    } satisfies Tool);
  }
  if (typeof definition !== 'object' || definition === null)
    throw invalid(identity, 'is neither an object nor a function');
  const execute: unknown = Reflect.get(definition, 'execute');
  if (typeof execute !== 'function') throw invalid(identity, 'has no `execute` function');
  const description: unknown = Reflect.get(definition, 'description');
  if (description !== undefined && typeof description !== 'string') {
    throw invalid(identity, 'has a description that is not a string');
  }
  const input = compile(identity, 'input', Reflect.get(definition, 'input'));
  const output = compile(identity, 'output', Reflect.get(definition, 'output'));
  return Object.freeze({
    safeName,
    originalName,
    ...(description !== undefined && { description }),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    execute: (value, context) => Reflect.apply(execute, definition, [value, context]),
  } satisfies Tool);
}

function compile(identity: Identity, side: 'input' | 'output', schema: unknown): CompiledSchema | undefined {
  if (schema === undefined) return undefined;
  if (isStandardSchema(schema)) return compileStandardSchema(schema);
  if (!isJsonSchema(schema)) {
    throw invalid(identity, `has an ${side} schema that is neither a Standard Schema nor a JSON Schema`);
  }
  const result = compileJsonSchema(schema);
  if (!result.ok) throw invalid(identity, `has an ${side} schema that cannot be used: ${result.problem}`);
  return result.compiled;
}

function isJsonSchema(schema: unknown): schema is JsonSchema {
  if (typeof schema === 'boolean') return true;
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema) && !('~standard' in schema);
}

function invalid({ namespace, originalName }: Identity, problem: string): SallyportError {
  const message = `Tool ${namespace}.${JSON.stringify(originalName)} ${problem}.`;
  return new SallyportError('TOOLS_INVALID', message, { namespace, tool: originalName });
}

/** Tells whether a value is what `defineTools` returns, also that of another copy of this package. */
export function isToolProvider(value: unknown): value is ToolProvider {
  if (typeof value !== 'object' || value === null) return false;
  const tools: unknown = Reflect.get(value, 'tools');
  return typeof Reflect.get(value, 'name') === 'string' && tools instanceof Map;
}
