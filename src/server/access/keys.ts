import { randomBytes } from 'node:crypto';
import { sameDigest, secretDigest } from '../../wire/index.js';
import { MIN_KEY_CHARS } from '../limits.js';

/** What a key may be good for. `operations` is metrics, and the executions of everybody. */
export const BOUNDARIES = ['guest', 'wasm', 'tool', 'process', 'operations'] as const;
export type Boundary = (typeof BOUNDARIES)[number];

/** What a key may use within its boundaries. What is not named is not restricted. */
export interface KeyPolicy {
  /** Names of Wasm modules. */
  readonly modules?: readonly string[] | undefined;
  /** Names of npm packages. */
  readonly packages?: readonly string[] | undefined;
  /** Programs, as they are written in `argv[0]`. */
  readonly programs?: readonly string[] | undefined;
}

/** A key as the server knows it: by its digest. */
export interface Key {
  readonly name: string;
  /** `sha256:` and 64 hex digits. */
  readonly hash: string;
  readonly boundaries?: readonly Boundary[] | undefined;
  /** Executions that may be started per minute. */
  readonly ratePerMinute?: number | undefined;
  /** Executions at once. */
  readonly concurrency?: number | undefined;
  readonly policy?: KeyPolicy | undefined;
}

const HASH = /^sha256:([0-9a-f]{64})$/;

/** Hashes a key for the configuration. Keys are random, so a plain digest cannot be guessed back. */
export function hashKey(secret: string): string {
  return `sha256:${secretDigest(secret).toString('hex')}`;
}

/** Tells whether text is what `hashKey` returns. */
export function isKeyHash(text: string): boolean {
  return HASH.test(text);
}

/** Makes a key that nobody can guess: 256 bits. */
export function makeKey(): string {
  return `sp_${randomBytes(32).toString('base64url')}`;
}

/** Says what is wrong with a key that a person chose, or nothing. */
export function keyProblem(secret: string): string | undefined {
  if (secret.length < MIN_KEY_CHARS) {
    return `the key has ${secret.length} characters, at least ${MIN_KEY_CHARS} are needed`;
  }
  return /^[\x21-\x7e]+$/.test(secret)
    ? undefined
    : 'the key has spaces or characters that do not fit an HTTP header: use printable ASCII';
}

/** All keys of a server. Replacing them takes effect with the next request; what is open already is for `Admissions` to review. */
export class KeyRing {
  #keys: readonly { readonly key: Key; readonly digest: Buffer }[] = [];

  constructor(keys: readonly Key[]) {
    this.replace(keys);
  }

  /** Whether requests need one. */
  get required(): boolean {
    return this.#keys.length > 0;
  }

  replace(keys: readonly Key[]): void {
    this.#keys = keys.map((key) => ({ key, digest: Buffer.from(HASH.exec(key.hash)?.[1] ?? '', 'hex') }));
  }

  /** Finds the key of a token. All are compared, whichever fits. */
  identify(token: string): Key | undefined {
    const given = secretDigest(token);
    let found: Key | undefined;
    for (const { key, digest } of this.#keys) if (sameDigest(given, digest)) found = key;
    return found;
  }

  /** The present key of a name. */
  named(name: string): Key | undefined {
    return this.#keys.find(({ key }) => key.name === name)?.key;
  }

  /** The present rules of a key that was identified earlier; nothing when it is gone. */
  current(key: Key): Key | undefined {
    return this.#keys.find((entry) => entry.key.hash === key.hash)?.key;
  }
}
