import { isAbsolute } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { printable } from '../wire/index.js';
import { ExecError } from './exec-error.js';
import { type Dialect, isObject } from './messages.js';

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
/** How many characters of a refused value are quoted. */
const QUOTED = 80;
/** The longest path that the kernel takes, in bytes: PATH_MAX without the closing NUL. */
const PATH_BYTES = 4_095;

/** Reads the parameters of one request, and names the field that does not fit. */
export class Fields {
  readonly #values: Record<string, unknown>;
  readonly #dialect: Dialect;
  readonly #at: string;

  constructor(values: Record<string, unknown>, dialect: Dialect, at = '') {
    this.#values = values;
    this.#dialect = dialect;
    this.#at = at;
  }

  /** Starts on a request's `params`. Requests without parameters may leave them out or send null. */
  static of(params: unknown, dialect: Dialect): Fields {
    if (params === undefined || params === null) return new Fields({}, dialect);
    if (!isObject(params)) throw new ExecError('invalidParams', 'params must be an object');
    return new Fields(params, dialect);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name);
  }

  string(name: string): string {
    const value = this.#values[name];
    if (typeof value !== 'string') throw this.wrong(name, 'must be a string');
    return value;
  }

  /** A name that the client chose and that is kept here. */
  id(name: string, maxLength: number): string {
    const value = this.string(name);
    if (value.length > maxLength) throw this.wrong(name, `must have at most ${maxLength} characters`);
    return value;
  }

  optionalString(name: string): string | undefined {
    return this.#absent(name) ? undefined : this.string(name);
  }

  boolean(name: string): boolean {
    const value = this.#values[name];
    if (typeof value !== 'boolean') throw this.wrong(name, 'must be true or false');
    return value;
  }

  booleanOr(name: string, missing: 'true' | 'false'): boolean {
    return this.#absent(name) ? missing === 'true' : this.boolean(name);
  }

  /** All fields that are true or false. */
  booleans(): Record<string, boolean> {
    const flags: Record<string, boolean> = Object.create(null);
    for (const [name, value] of Object.entries(this.#values)) if (typeof value === 'boolean') flags[name] = value;
    return flags;
  }

  integer(name: string): number {
    const value = this.#values[name];
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
      throw this.wrong(name, 'must be a whole number of at least 0');
    }
    return value;
  }

  optionalInteger(name: string): number | undefined {
    return this.#absent(name) ? undefined : this.integer(name);
  }

  /** A whole number that may be below 0. */
  signed(name: string): number {
    const value = this.#values[name];
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw this.wrong(name, 'must be a whole number');
    return value;
  }

  optionalSigned(name: string): number | undefined {
    return this.#absent(name) ? undefined : this.signed(name);
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice {
    const value = this.string(name);
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw this.wrong(name, `must be one of ${choices.join(', ')}`);
    return found;
  }

  strings(name: string): string[] {
    return this.#strings(name, this.#values[name]);
  }

  optionalStrings(name: string): string[] {
    return this.#absent(name) ? [] : this.strings(name);
  }

  /** An object of strings. It has no prototype, so every name is only a name. */
  record(name: string): Record<string, string> {
    const value = this.#values[name];
    if (!isObject(value)) throw this.wrong(name, 'must be an object of strings');
    const record: Record<string, string> = Object.create(null);
    for (const [key, item] of Object.entries(value)) {
      if (typeof item !== 'string') throw this.wrong(`${name}.${printable(key, QUOTED)}`, 'must be a string');
      record[key] = item;
    }
    return record;
  }

  optionalObject(name: string): Fields | undefined {
    if (this.#absent(name)) return undefined;
    const value = this.#values[name];
    if (!isObject(value)) throw this.wrong(name, 'must be an object');
    return new Fields(value, this.#dialect, `${this.#at}${name}.`);
  }

  objects(name: string): Fields[] {
    const value = this.#values[name];
    if (!Array.isArray(value)) throw this.wrong(name, 'must be an array');
    return value.map((item: unknown, index) => {
      if (!isObject(item)) throw this.wrong(`${name}[${index}]`, 'must be an object');
      return new Fields(item, this.#dialect, `${this.#at}${name}[${index}].`);
    });
  }

  bytes(name: string): Buffer {
    const text = this.string(name);
    if (text.length % 4 !== 0 || !BASE64.test(text)) throw this.wrong(name, 'must be padded base64');
    return Buffer.from(text, 'base64');
  }

  /** An absolute path: native in the first dialect, a `file:` URI in the later one. */
  path(name: string): string {
    return this.#usable(name, this.string(name));
  }

  paths(name: string): string[] {
    return this.strings(name).map((text, index) => this.#usable(`${name}[${index}]`, text));
  }

  /** A path in an answer. A tree may be deeper than any one path can tell. */
  place(name: string): string {
    return this.#path(name, this.string(name));
  }

  wrong(name: string, problem: string): ExecError {
    return new ExecError('invalidParams', `${this.#at}${name} ${problem}`);
  }

  /** What works on a path takes it apart, so one that the kernel would refuse goes no further. */
  #usable(name: string, text: string): string {
    const path = this.#path(name, text);
    if (Buffer.byteLength(path) > PATH_BYTES) throw this.wrong(name, `must have at most ${PATH_BYTES} bytes`);
    return path;
  }

  #path(name: string, text: string): string {
    if (text.includes('\0')) throw this.wrong(name, 'must not contain a NUL character');
    if (this.#dialect === 'later') return this.#fromUri(name, text);
    if (!isAbsolute(text)) throw this.wrong(name, `must be an absolute path, not ${quote(text)}`);
    return text;
  }

  #absent(name: string): boolean {
    return this.#values[name] === undefined || this.#values[name] === null;
  }

  #strings(name: string, value: unknown): string[] {
    if (!Array.isArray(value)) throw this.wrong(name, 'must be an array of strings');
    for (let index = 0; index < value.length; index += 1) {
      if (typeof value[index] !== 'string') throw this.wrong(`${name}[${index}]`, 'must be a string');
    }
    return value;
  }

  #fromUri(name: string, text: string): string {
    let path: string | undefined;
    try {
      // Without the third slash the URL parser would make something up.
      if (/^file:\/\/(?:localhost)?\//i.test(text)) path = fileURLToPath(text);
    } catch {
      // Another host, a bad escape, or an escaped slash.
    }
    if (path === undefined || path.includes('\0')) throw this.wrong(name, `must be a file: URI, not ${quote(text)}`);
    return path;
  }
}

/** Writes a native path the way a dialect wants it. */
export function pathFor(dialect: Dialect, path: string): string {
  return dialect === 'first' ? path : pathToFileURL(path).href;
}

function quote(text: string): string {
  return JSON.stringify(printable(text, QUOTED));
}
