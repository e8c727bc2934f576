import { createHash } from 'node:crypto';
import type { Execution } from './execution.js';
import { failure, type ToolFailureError } from './failure.js';

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

/** A key as it was sent. */
export interface KeyUse {
  /** What the caller wrote. */
  readonly text: string;
  /** Tells it from the same text of another caller. */
  readonly id: string;
  readonly bodyHash: string;
}

/** The use of a key that comes with a body. Nothing without a key. */
export function keyUse(
  { idempotencyKey: text, principal }: { readonly idempotencyKey?: string; readonly principal?: string },
  body: unknown,
): KeyUse | undefined {
  if (text === undefined) return undefined;
  return { text, id: JSON.stringify([principal ?? null, text]), bodyHash: bodyHash(body) };
}

/** The key of one item, made from that of its batch. */
export function itemKey(batch: KeyUse, index: number): KeyUse {
  return { ...batch, id: `item ${index} of ${batch.id}` };
}

/** The failure that a key with another body is. */
export function keyConflict({ text }: KeyUse, executionId: string): ToolFailureError {
  return failure('IDEMPOTENCY_CONFLICT', `the key ${JSON.stringify(text)} was used with another body`, {
    field: 'Idempotency-Key',
    executionId,
  });
}

/** Remembers which key stands for which execution, as long as that can be asked for and its answer is one to keep. */
export class IdempotencyKeys {
  readonly #keys = new Map<string, { readonly bodyHash: string; readonly execution: Execution }>();
  readonly #used = new Map<Execution, string>();

  /** The execution of a key, or nothing when the key is new. Throws IDEMPOTENCY_CONFLICT for another body. */
  find(key: KeyUse): Execution | undefined {
    const known = this.#keys.get(key.id);
    if (known === undefined) return undefined;
    if (known.bodyHash !== key.bodyHash) throw keyConflict(key, known.execution.id);
    // One that is being cut short has no answer for anybody who comes now.
    return known.execution.signal.aborted && known.execution.response === undefined ? undefined : known.execution;
  }

  set({ id, bodyHash: hash }: KeyUse, execution: Execution): void {
    this.#keys.set(id, { bodyHash: hash, execution });
    this.#used.set(execution, id);
    void execution.done.then((response) => {
      // Whoever is told to try again must not be told the same again.
      if (!response.success && (response.retryable || response.error.code === 'EXECUTION_CANCELLED'))
        this.forget(execution);
    });
  }

  forget(execution: Execution): void {
    const id = this.#used.get(execution);
    if (id === undefined) return;
    this.#used.delete(execution);
    if (this.#keys.get(id)?.execution === execution) this.#keys.delete(id);
  }
}
