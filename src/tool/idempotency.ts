import { createHash } from 'node:crypto';
import type { Execution } from './execution.js';
import { failure } from './failure.js';

/** The same for the same body, whatever the order of its keys. */
export function bodyHash(body: unknown): string {
  const sorted = JSON.stringify(body, (_key, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256')
    .update(sorted ?? 'undefined')
    .digest('hex');
}

/** Remembers which key stands for which execution, as long as that can be asked for. */
export class IdempotencyKeys {
  readonly #keys = new Map<string, { readonly hash: string; readonly execution: Execution }>();

  /** The execution of a key, or nothing when the key is new. Throws IDEMPOTENCY_CONFLICT for another body. */
  find(key: string, hash: string): Execution | undefined {
    const known = this.#keys.get(key);
    if (known === undefined) return undefined;
    if (known.hash === hash) return known.execution;
    throw failure('IDEMPOTENCY_CONFLICT', `the key ${JSON.stringify(key)} was used with another body`, {
      field: 'Idempotency-Key',
      executionId: known.execution.id,
    });
  }

  set(key: string, hash: string, execution: Execution): void {
    this.#keys.set(key, { hash, execution });
  }

  forget(execution: Execution): void {
    for (const [key, known] of this.#keys) if (known.execution === execution) this.#keys.delete(key);
  }
}
