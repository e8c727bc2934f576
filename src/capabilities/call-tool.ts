import { checkTransportSafe, type TransportValue, type ValueLimits } from '../wire/index.js';
import { closestName } from './closest.js';
import { formatIssues } from './issues.js';
import { MAX_LISTED_TOOLS, MAX_TOOL_NAME_CHARS } from './limits.js';
import type { CompiledSchema, Validation } from './schema.js';
import { clipMessage, messageOfThrown } from './thrown.js';
import type { Tool, ToolContext, ToolProvider } from './tools.js';

/** The codes of the runner specification that a tool call can end with. */
export type ToolErrorCode = 'validation_error' | 'tool_error' | 'serialization_error' | 'timeout' | 'internal_error';

export type ToolOutcome =
  | { readonly ok: true; readonly result: TransportValue | undefined }
  | { readonly ok: false; readonly error: { readonly code: ToolErrorCode; readonly message: string } };

/** What the caller knows about a call. */
export interface CallContext {
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly executionId?: string;
  /** Limits of the input and of the result, each on its own. */
  readonly limits?: ValueLimits;
}

/**
 * Calls one tool for a guest. Never throws, never rejects: whatever a tool does becomes an outcome.
 *
 *     find ─▶ input transport-safe ─▶ input fits ─▶ execute ─▶ result fits ─▶ result transport-safe ─▶ ok
 *       └────────────┴───────────────────┴────────────┴────────────┴──────────────┴──▶ error
 *     signal aborts at any point ─▶ timeout, at once; what settles later is ignored
 */
export function callTool(
  provider: ToolProvider,
  safeToolName: string,
  input: unknown,
  context: CallContext,
): Promise<ToolOutcome> {
  const tool = provider.tools.get(safeToolName);
  if (tool === undefined) return Promise.resolve(failure('validation_error', unknownTool(provider, safeToolName)));
  const name = `${provider.name}.${tool.safeName}`;
  const { signal } = context;
  const aborted = failure('timeout', `Tool ${name} was cancelled before it finished`);
  if (signal.aborted) return Promise.resolve(aborted);
  return new Promise((resolve) => {
    const onAbort = () => resolve(aborted);
    signal.addEventListener('abort', onAbort, { once: true });
    const settle = (outcome: ToolOutcome) => {
      signal.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    run(provider, tool, input, context).then(settle, (error: unknown) => {
      settle(failure('internal_error', messageOfThrown(error, `Tool ${name} could not be called`)));
    });
  });
}

async function run(provider: ToolProvider, tool: Tool, input: unknown, context: CallContext): Promise<ToolOutcome> {
  const name = `${provider.name}.${tool.safeName}`;
  const limits = context.limits ?? {};
  const received = checkTransportSafe(input, { root: 'input', limits });
  if (!received.ok) return failure('serialization_error', `Tool ${name} was called with ${received.message}`);

  const accepted = await validateInput(tool.input, received.value);
  if (!accepted.ok) {
    return failure('validation_error', `Tool ${name} refused its input: ${formatIssues('input', accepted.issues)}`);
  }
  // Validation may have taken a while: a call that nobody waits for any more has no effects.
  if (context.signal.aborted) return failure('timeout', `Tool ${name} was cancelled before it started`);

  let returned: unknown;
  try {
    returned = await tool.execute(accepted.value, toolContext(provider, tool, context));
  } catch (thrown) {
    return failure('tool_error', messageOfThrown(thrown, `Tool ${name} failed without saying why`));
  }
  return deliver(name, tool.output, returned, limits);
}

/** Checks what a tool returned. The JSON Schema validator reads plain JSON only, so there transport comes first. */
async function deliver(
  name: string,
  schema: CompiledSchema | undefined,
  returned: unknown,
  limits: ValueLimits,
): Promise<ToolOutcome> {
  let value = returned;
  if (schema?.kind === 'standard') {
    const fitted = await schema.validate(value);
    if (!fitted.ok) return misfit(name, fitted);
    value = fitted.value;
  }
  const sent = checkTransportSafe(value, { root: 'result', limits });
  if (!sent.ok) return failure('serialization_error', `Tool ${name} returned ${sent.message}`);
  if (schema?.kind === 'json') {
    const fitted = await schema.validate(sent.value);
    if (!fitted.ok) return misfit(name, fitted);
  }
  return { ok: true, result: sent.value };
}

/** Validates input. A call without any is a call with `{}` where the schema takes that. */
async function validateInput(schema: CompiledSchema | undefined, value: unknown): Promise<Validation> {
  if (schema === undefined) return { ok: true, value };
  const validation = await schema.validate(value);
  if (validation.ok || value !== undefined) return validation;
  const empty = await schema.validate({});
  return empty.ok ? empty : validation;
}

function toolContext(provider: ToolProvider, tool: Tool, context: CallContext): ToolContext {
  return Object.freeze({
    signal: context.signal,
    namespace: provider.name,
    toolName: tool.originalName,
    safeToolName: tool.safeName,
    callId: context.callId,
    ...(context.executionId !== undefined && { executionId: context.executionId }),
  });
}

function misfit(name: string, validation: Extract<Validation, { ok: false }>): ToolOutcome {
  const issues = formatIssues('result', validation.issues);
  return failure('validation_error', `Tool ${name} returned a value that does not fit its output schema: ${issues}`);
}

function unknownTool(provider: ToolProvider, wanted: string): string {
  const known = [...provider.tools.keys()];
  const shown = `${provider.name}.${wanted.slice(0, MAX_TOOL_NAME_CHARS)}`;
  const closest = closestName(wanted, known);
  if (closest !== undefined) return `There is no tool ${shown}. Did you mean ${provider.name}.${closest}?`;
  if (known.length === 0) return `There is no tool ${shown}: the namespace ${provider.name} is empty`;
  const rest = known.length - MAX_LISTED_TOOLS;
  const list = known.slice(0, MAX_LISTED_TOOLS).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
  return `There is no tool ${shown}. The namespace ${provider.name} has: ${list}`;
}

function failure(code: ToolErrorCode, message: string): ToolOutcome {
  return { ok: false, error: { code, message: clipMessage(message) } };
}
