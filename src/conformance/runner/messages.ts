import type { JsonObject } from '../target/codec.js';

/** The public error codes of the protocol. */
export const ERROR_CODES: readonly string[] = [
  'timeout',
  'memory_limit',
  'validation_error',
  'tool_error',
  'runtime_error',
  'serialization_error',
  'internal_error',
];

/** Limits that no check runs into unless it means to. */
export const OPTIONS = { timeoutMs: 8_000, memoryLimitBytes: 64 * 1024 * 1024, maxLogLines: 100, maxLogChars: 64_000 };

/** A manifest of one namespace. Names are original names; the safe one is the same unless given as `[safe, original]`. */
export function manifest(name: string, ...tools: readonly (string | readonly [string, string])[]): JsonObject {
  const entries = tools.map((tool) => (typeof tool === 'string' ? ([tool, tool] as const) : tool));
  return {
    name,
    tools: Object.fromEntries(entries.map(([safeName, originalName]) => [safeName, { safeName, originalName }])),
    types: `declare namespace ${name} {}`,
  };
}
