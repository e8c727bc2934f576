import { callTool, closestName, type ToolProvider } from '../../capabilities/index.js';
import { printable } from '../../wire/index.js';
import type { Dispatch } from './drive-session.js';

/** Answers tool calls from providers. Names from the wire are looked up in a map, never as properties. */
export function dispatchTo(providers: readonly ToolProvider[], executionId?: string): Dispatch {
  const byName = new Map(providers.map((provider) => [provider.name, provider]));
  return async (call, signal) => {
    const provider = byName.get(call.providerName);
    if (provider !== undefined) {
      const context = { signal, callId: call.callId, ...(executionId === undefined ? {} : { executionId }) };
      return callTool(provider, call.safeToolName, call.input, context);
    }
    const near = closestName(call.providerName, byName.keys());
    const hint = near === undefined ? '' : ` Did you mean ${near}?`;
    const message = `There is no namespace ${printable(call.providerName, 64)}.${hint}`;
    return { ok: false, error: { code: 'validation_error', message } };
  };
}
