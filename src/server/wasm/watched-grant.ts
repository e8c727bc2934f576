import { messageOfThrown, type Tool, type ToolContext, type ToolProvider } from '../../capabilities/index.js';
import type { AnyFunctions, WasmClient } from '../../wasm/index.js';
import type { AuditedExecution } from '../audit/execution.js';

/** A guest for one call, and how to say whose call it is. */
export interface OneGuest {
  readonly client: WasmClient<AnyFunctions>;
  watch(execution: AuditedExecution): void;
}

/** Copies a provider so that each call of a guest is noted in the trail. */
export function watchedGrant(provider: ToolProvider | undefined): {
  readonly provider: ToolProvider | undefined;
  readonly watch: (execution: AuditedExecution) => void;
} {
  let execution: AuditedExecution | undefined;
  const watch = (watched: AuditedExecution): void => {
    execution = watched;
  };
  if (provider === undefined) return { provider: undefined, watch };
  const noted = (tool: Tool): Tool => ({
    ...tool,
    execute: async (input: unknown, context: ToolContext) => {
      const from = performance.now();
      const note = (outcome: 'ok' | 'failed', reason?: string): void =>
        execution?.used({
          type: 'callback',
          name: `${provider.name}.${tool.originalName}`,
          outcome,
          durationMs: Math.round(performance.now() - from),
          ...(reason === undefined ? {} : { reason }),
        });
      try {
        const result = await tool.execute(input, context);
        note('ok');
        return result;
      } catch (error) {
        note('failed', messageOfThrown(error, 'no reason given'));
        throw error;
      }
    },
  });
  const tools = new Map([...provider.tools].map(([name, tool]) => [name, noted(tool)]));
  return { provider: { ...provider, tools }, watch };
}
