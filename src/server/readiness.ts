import { access, constants } from 'node:fs/promises';

/** Whether the server should be sent work, and if not, why. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** Collects what keeps a server from doing what it was configured for. */
export class ReadinessProbe {
  readonly #cacheDir: string;
  readonly #problems = new Map<string, string>();

  constructor(cacheDir: string) {
    this.#cacheDir = cacheDir;
  }

  /** Notes a problem that stays. */
  report(part: string, problem: string): void {
    this.#problems.set(part, problem);
  }

  async check(): Promise<Readiness> {
    const reasons = [...this.#problems.values()];
    try {
      await access(this.#cacheDir, constants.W_OK);
    } catch {
      reasons.push('the cache folder cannot be written to');
    }
    return { ready: reasons.length === 0, reasons };
  }
}
