/** What the engine says of a guest that nests too deep. */
export const STACK_OVERFLOW = 'Maximum call stack size exceeded';
/** What the engine says of a guest without memory. */
export const OUT_OF_MEMORY = 'out of memory';

/** The guest's engine gave up in a way that leaves its heap unusable: the instance must be thrown away. */
export class BrokenGuest extends Error {
  override readonly name = 'BrokenGuest';
  readonly kind: 'stack' | 'trap';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    // The engine's frames live on the host's stack; when that ends first, V8 says so with a RangeError.
    this.kind = cause instanceof RangeError ? 'stack' : 'trap';
  }
}

/** The guest has no memory left for what the host was about to give it. */
export class NoGuestMemory extends Error {
  override readonly name = 'NoGuestMemory';
  constructor(where: string) {
    super(`the guest has no memory left for ${where}`);
  }
}

/** A function of the prelude threw, which only happens when the guest has no time left or broke what it stands on. */
export class GuestFailure extends Error {
  override readonly name = 'GuestFailure';
  constructor(where: string) {
    super(`the guest failed in ${where}`);
  }
}
