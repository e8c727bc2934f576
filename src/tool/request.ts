import type { z } from 'zod';
import { printable } from '../wire/index.js';
import { envNameProblem } from './env-names.js';
import { failure } from './failure.js';
import type { ToolLimits } from './limits.js';

const SHOWN_CHARACTERS = 80;

function shown(value: unknown): string {
  const text =
    typeof value === 'string'
      ? JSON.stringify(value.slice(0, SHOWN_CHARACTERS))
      : value === null
        ? 'null'
        : Array.isArray(value)
          ? 'an array'
          : typeof value;
  return printable(text, SHOWN_CHARACTERS + 40);
}

function at(body: unknown, path: readonly PropertyKey[]): unknown {
  let value = body;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** Checks a body against a schema. Throws INVALID_REQUEST that names the field, the value and the reason. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw failure('INVALID_REQUEST', `the body must be a JSON object, not ${shown(body)}`, { field: '' });
  }
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path ?? [];
  const field = path.map(String).join('.');
  const value = at(body, path);
  const reason = value === undefined ? 'is required' : `${issue?.message ?? 'is not valid'}; it is ${shown(value)}`;
  throw failure('INVALID_REQUEST', printable(`${field === '' ? 'the body' : field}: ${reason}`, 400), {
    field,
    problems: parsed.error.issues
      .slice(0, 20)
      .map((each) => ({ field: each.path.map(String).join('.'), reason: each.message })),
  });
}

/** Checks the variables of a request. Throws INVALID_REQUEST that names the first offender. */
export function checkEnv(env: Readonly<Record<string, string>>, limits: ToolLimits): void {
  const refuse = (name: string, problem: string): never => {
    throw failure('INVALID_REQUEST', printable(`env.${name.slice(0, SHOWN_CHARACTERS)} ${problem}`, 300), {
      field: `env.${name.slice(0, SHOWN_CHARACTERS)}`,
    });
  };
  const entries = Object.entries(env);
  if (entries.length > limits.maxEnvVariables) {
    throw failure('INVALID_REQUEST', `env has ${entries.length} variables, more than ${limits.maxEnvVariables}`, {
      field: 'env',
    });
  }
  let total = 0;
  for (const [name, value] of entries) {
    const problem = envNameProblem(name);
    if (problem !== undefined) refuse(name, problem);
    if (value.includes('\0')) refuse(name, 'must not contain a NUL character');
    const bytes = Buffer.byteLength(value);
    if (bytes > limits.maxEnvValueBytes) refuse(name, `has ${bytes} bytes, more than ${limits.maxEnvValueBytes}`);
    total += bytes + name.length;
  }
  if (total > limits.maxEnvBytes) {
    throw failure('INVALID_REQUEST', `env has ${total} bytes in all, more than ${limits.maxEnvBytes}`, {
      field: 'env',
    });
  }
}

/** Checks `timeoutMs` against what is offered. Throws INVALID_REQUEST. */
export function checkTimeout(timeoutMs: number | undefined, limits: ToolLimits): number {
  if (timeoutMs === undefined) return limits.maxExecutionTimeMs;
  if (timeoutMs > limits.maxExecutionTimeMs) {
    throw failure('INVALID_REQUEST', `timeoutMs: at most ${limits.maxExecutionTimeMs}; it is ${timeoutMs}`, {
      field: 'timeoutMs',
    });
  }
  return timeoutMs;
}
