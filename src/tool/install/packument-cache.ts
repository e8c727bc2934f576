/** How long a packument is believed without asking the registry again. */
const TTL_MS = 60_000;
/** Packuments that are kept. The large ones take a few megabytes. */
const MAX_ENTRIES = 400;

/** The packuments that were read lately, shared by all installs: tools of one kind have most of their tree in common. */
export class PackumentCache {
  readonly #entries = new Map<string, { readonly value: unknown; readonly until: number }>();

  has(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    if (entry.until > performance.now()) return true;
    this.#entries.delete(key);
    return false;
  }

  get(key: string): unknown {
    return this.has(key) ? this.#entries.get(key)?.value : undefined;
  }

  set(key: string, value: unknown): this {
    followNoLockFiles(value);
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: performance.now() + TTL_MS });
    const oldest = this.#entries.size > MAX_ENTRIES ? this.#entries.keys().next().value : undefined;
    if (oldest !== undefined) this.#entries.delete(oldest);
    return this;
  }

  delete(key: string): boolean {
    return this.#entries.delete(key);
  }

  /** Forgets a package, so that the next look asks the registry. */
  forget(escapedName: string): void {
    for (const key of this.#entries.keys()) if (key.endsWith(`/${escapedName}`)) this.#entries.delete(key);
  }
}

/**
 * Versions that were published with a lock file of their own (`npm-shrinkwrap.json`) are marked, and npm's resolver leaves
 * their dependencies to that file. Here all dependencies are resolved from ranges, so that the deny-list, the minimum age
 * and the rule that everything comes from the registry hold for them, too. pacote hands out the very object that it keeps.
 */
function followNoLockFiles(packument: unknown): void {
  if (typeof packument !== 'object' || packument === null || !('versions' in packument)) return;
  const { versions } = packument;
  if (typeof versions !== 'object' || versions === null) return;
  const manifests: readonly unknown[] = Object.values(versions);
  for (const manifest of manifests) {
    if (typeof manifest === 'object' && manifest !== null) Reflect.deleteProperty(manifest, '_hasShrinkwrap');
  }
}
