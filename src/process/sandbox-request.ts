import type { Fields } from './fields.js';

/**
 * What a client's description of a sandbox asks for, as far as it matters here:
 * - `nothing`: the client wants the command to run as the server runs commands
 * - `no-network`: only that the network be closed
 * - `more`: anything else, rules about files above all
 */
export type SandboxRequest = 'nothing' | 'no-network' | 'more';

/** Reads a client's description of a sandbox. What is not understood asks for more. */
export function sandboxRequest(fields: Fields | undefined): SandboxRequest | undefined {
  if (fields === undefined) return undefined;
  const permissions = objectOf(fields, 'permissions');
  const type = textOf(permissions, 'type');
  if (type === 'disabled') return 'nothing';
  if (type === 'managed' && textOf(objectOf(permissions, 'fileSystem'), 'type') !== 'unrestricted') return 'more';
  if (type !== 'managed' && type !== 'external') return 'more';
  return textOf(permissions, 'network') === 'enabled' ? 'nothing' : 'no-network';
}

function objectOf(fields: Fields | undefined, name: string): Fields | undefined {
  return fields?.isObject(name) ? fields.optionalObject(name) : undefined;
}

function textOf(fields: Fields | undefined, name: string): string | undefined {
  return fields?.isString(name) ? fields.string(name) : undefined;
}
