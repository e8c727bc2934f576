import type { z } from 'zod';
import { invalidRequest } from './problem.js';

/** Reads a part of a request, or throws the problem that names the first field that is wrong. */
export function parseOr400<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  part: 'body' | 'query',
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.join('.') ?? '';
  const message = issue?.message ?? `the ${part} is not valid`;
  throw invalidRequest(field === '' ? message : `${field}: ${message}`, field);
}
