import {
  defineTools,
  formatIssues,
  messageOfThrown,
  type Tool,
  type ToolContext,
  type ToolDefinitions,
  type ToolProvider,
} from '../capabilities/index.js';
import { SallyportError } from '../errors/index.js';
import { printable } from '../wire/index.js';
import { MAX_ERROR_CHARS } from './limits.js';
import { isCallbackName } from './session/ids.js';
import { isThenable } from './session/incoming-calls.js';
import type { Answer, IncomingCall, SessionOptions } from './session/types.js';

/** What a granted function is told about the call it answers: as any tool, plus the streams and calls of its session. */
export interface DuplexContext extends ToolContext, Pick<IncomingCall, 'receive' | 'send' | 'call' | 'notify'> {}

const NAMESPACE = 'host';

/** Makes a provider of definitions, unless they are one already. */
export function providerOf<Inputs extends Record<string, unknown>, Outputs extends Record<string, unknown>>(
  grant: ToolProvider | ToolDefinitions<Inputs, Outputs>,
): ToolProvider {
  return isProvider(grant) ? grant : defineTools(NAMESPACE, grant);
}

function isProvider(grant: object): grant is ToolProvider {
  return 'tools' in grant && grant.tools instanceof Map && 'name' in grant && typeof grant.name === 'string';
}

/** Indexes tools by the name that their author gave them: the peer sees names verbatim. A `Map`, so nothing is inherited. */
export function byOriginalName(provider: ToolProvider): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  for (const tool of provider.tools.values()) {
    if (isCallbackName(tool.originalName)) {
      throw new SallyportError('TOOLS_NAME', `The name ${tool.originalName} is kept for callbacks: choose another.`);
    }
    tools.set(tool.originalName, tool);
  }
  return tools;
}

/** Finds what a peer may call among tools, each validated in and out. */
export function grantTools(provider: ToolProvider): SessionOptions['grant'] {
  const tools = byOriginalName(provider);
  return (functionName) => {
    const tool = tools.get(functionName);
    return tool === undefined ? undefined : (call) => runTool(provider.name, tool, call);
  };
}

/** Runs one tool for one call. A tool without schemas that returns at once costs no promise. */
function runTool(namespace: string, tool: Tool, call: IncomingCall): Answer | Promise<Answer> {
  if (tool.input !== undefined || tool.output !== undefined) return runChecked(namespace, tool, call);
  try {
    const returned = tool.execute(call.params, contextOf(namespace, tool, call));
    if (!isThenable(returned)) return { ok: true, result: returned };
    return Promise.resolve(returned).then(
      (result: unknown) => ({ ok: true, result }),
      (error: unknown) => failure(error, tool),
    );
  } catch (error) {
    return failure(error, tool);
  }
}

async function runChecked(namespace: string, tool: Tool, call: IncomingCall): Promise<Answer> {
  let input: unknown = call.params;
  if (tool.input !== undefined) {
    const accepted = await tool.input.validate(input);
    if (!accepted.ok) return unfit(`${tool.originalName} refused its input`, formatIssues('params', accepted.issues));
    input = accepted.value;
  }
  // Validation may have taken a while: a call that nobody waits for any more has no effects.
  if (call.signal.aborted) return { ok: false, error: 'the session has ended' };
  let result: unknown;
  try {
    result = await tool.execute(input, contextOf(namespace, tool, call));
  } catch (error) {
    return failure(error, tool);
  }
  if (tool.output === undefined) return { ok: true, result };
  const fitted = await tool.output.validate(result);
  if (fitted.ok) return { ok: true, result: fitted.value };
  const what = `${tool.originalName} returned a value that does not fit its output schema`;
  return unfit(what, formatIssues('result', fitted.issues));
}

/** The issues quote what the peer sent, as long and as strange as that is. */
function unfit(what: string, issues: string): Answer {
  return { ok: false, error: `${what}: ${printable(issues, MAX_ERROR_CHARS)}` };
}

function contextOf(namespace: string, tool: Tool, call: IncomingCall): DuplexContext {
  return {
    signal: call.signal,
    namespace,
    toolName: tool.originalName,
    safeToolName: tool.safeName,
    callId: call.callId,
    receive: call.receive,
    send: call.send,
    call: call.call,
    notify: call.notify,
  };
}

function failure(error: unknown, tool: Tool): Answer {
  return { ok: false, error: messageOfThrown(error, `${tool.originalName} failed without saying why`) };
}
