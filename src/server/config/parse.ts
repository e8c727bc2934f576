import type { z } from 'zod';
import { closestName } from '../../capabilities/index.js';
import { SallyportError } from '../../errors/index.js';
import { printable } from '../../wire/index.js';
import { lineAt, lineOf } from './locate.js';
import { ConfigSchema, type ServeConfig } from './schema.js';

/** Checks a configuration. Throws SERVER_CONFIG that names the key, and the line where there are lines. */
export function checkConfig(value: unknown, source: string, text?: string): ServeConfig {
  const parsed = ConfigSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue === undefined) throw new SallyportError('SERVER_CONFIG', `${source} cannot be used`);
  const path = pathOf(issue);
  const line = text === undefined ? '' : `:${lineOf(text, path)}`;
  throw new SallyportError('SERVER_CONFIG', `${source}${line}: ${describe(issue, path)}`, { key: path.join('.') });
}

/** Reads the text of a JSON configuration. Throws SERVER_CONFIG. */
export function parseConfig(text: string, source: string): ServeConfig {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const position = /at position (\d+)/.exec(reason)?.[1];
    const line = position === undefined ? '' : `:${lineAt(text, Number(position))}`;
    throw new SallyportError('SERVER_CONFIG', `${source}${line}: it is not JSON: ${printable(reason, 120)}`);
  }
  return checkConfig(value, source, text);
}

function pathOf(issue: z.core.$ZodIssue): readonly PropertyKey[] {
  const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : [];
  return unknown === undefined ? issue.path : [...issue.path, unknown];
}

function describe(issue: z.core.$ZodIssue, path: readonly PropertyKey[]): string {
  const name = path.join('.');
  if (issue.code !== 'unrecognized_keys') return `${name === '' ? 'the configuration' : name}: ${issue.message}`;
  const known = path.length === 1 ? Object.keys(ConfigSchema.shape) : [];
  const meant = closestName(String(path.at(-1)), known);
  return `${name} is not a setting${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}
