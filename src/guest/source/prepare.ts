import type { Program } from 'acorn';
import { DEFAULT_MAX_CODE_BYTES, DEFAULT_MAX_CODE_DEPTH } from '../limits.js';
import { stripFence } from './fence.js';
import { findModuleSyntax } from './modules.js';
import { ParseLimitError, parseJavaScript } from './parser.js';
import { escapeUnprintable, positionAt, type SourcePosition } from './position.js';
import { stripTypes } from './strip-types.js';
import { hasTypeArguments } from './type-arguments.js';
import { parseTypeScript } from './typescript.js';
import { type SourceOrigin, wrapProgram } from './wrap.js';

export interface PrepareOptions {
  /** Largest source, in UTF-8 bytes. Default: `DEFAULT_MAX_CODE_BYTES`. */
  readonly maxBytes?: number;
  /** Deepest nesting, in grammar steps. Default: `DEFAULT_MAX_CODE_DEPTH`. */
  readonly maxDepth?: number;
}

/** Why a source is not a program, and where. The message names the place as well. */
export interface SourceError extends SourcePosition {
  readonly message: string;
}

export type PreparedSource =
  | {
      readonly ok: true;
      /** A script whose value is an async function; calling that once, without arguments, runs the program. */
      readonly script: string;
      readonly origin: SourceOrigin;
      /** Whether types were stripped. */
      readonly typescript: boolean;
    }
  | { readonly ok: false; readonly error: SourceError };

interface Fault {
  readonly offset: number;
  readonly message: string;
  /** How far the parser had read. */
  readonly reached: number;
}

type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly fault: Fault };

function describe(code: string, message: string, offset: number): string {
  const plain = message.replace(/ \(\d+:\d+\)$/, '');
  if (!/^Unexpected token$/.test(plain)) return plain;
  const token = /^(?:[\p{ID_Continue}$]{1,40}|[\s\S])/u.exec(code.slice(offset, offset + 80))?.[0];
  return token === undefined ? 'Unexpected end of the program' : `Unexpected token '${escapeUnprintable(token)}'`;
}

function faultOf(code: string, error: unknown): Fault {
  if (error instanceof ParseLimitError) {
    const message =
      error.limit === 'depth'
        ? 'the program is nested too deeply: split it into smaller functions or statements'
        : 'the program is too ambiguous to parse: write type assertions as `x as T`';
    return { offset: error.offset, message, reached: Number.POSITIVE_INFINITY };
  }
  if (error instanceof SyntaxError && 'pos' in error && typeof error.pos === 'number') {
    const { pos } = error;
    if (error.message.startsWith('Not enough stack space')) return faultOf(code, new ParseLimitError(pos, 'depth'));
    return { offset: pos, message: `SyntaxError: ${describe(code, error.message, pos)}`, reached: pos };
  }
  if (error instanceof RangeError) return faultOf(code, new ParseLimitError(0, 'depth'));
  // A parser that fails in another way has met a program it does not understand.
  return { offset: 0, message: 'SyntaxError: the program could not be parsed', reached: -1 };
}

function attempt<T>(code: string, step: () => T): Attempt<T> {
  try {
    return { ok: true, value: step() };
  } catch (error) {
    return { ok: false, fault: faultOf(code, error) };
  }
}

/** Say what an author most likely did, where the bare error would not tell. */
function hintFor(code: string, fault: Pick<Fault, 'offset' | 'message'>): string {
  if (!fault.message.startsWith('SyntaxError')) return '';
  if (/^[ \t]*```/m.test(code)) return '; send the code alone, without Markdown around it';
  const isObject = code[fault.offset] === ':' && /^\s*\{\s*["']/.test(code);
  return isObject ? '; put parentheses around an object that is the value' : '';
}

function refuse(code: string, fault: Pick<Fault, 'offset' | 'message'>): PreparedSource {
  const { line, column } = positionAt(code, fault.offset);
  const message = `${fault.message} (${line}:${column}), line ${line}, column ${column}${hintFor(code, fault)}`;
  return { ok: false, error: { message, line, column } };
}

function finish(code: string, program: Program, typescript: boolean): PreparedSource {
  const module = findModuleSyntax(code, program);
  if (module !== undefined) return refuse(code, module);
  return { ok: true, ...wrapProgram(code, program), typescript };
}

/** Read the program as TypeScript; a fault if it is none. */
function prepareTypeScript(code: string, maxDepth: number): PreparedSource | Fault {
  const typed = attempt(code, () => stripTypes(code, parseTypeScript(code, maxDepth)));
  if (!typed.ok) return typed.fault;
  const stripped = typed.value;
  if (!stripped.ok) return refuse(code, stripped);
  // The stripped text is parsed again: what the engine gets is known to be a whole JavaScript program, whatever was blanked.
  const plain = attempt(stripped.code, () => parseJavaScript(stripped.code, maxDepth));
  return plain.ok ? finish(stripped.code, plain.value, true) : refuse(code, plain.fault);
}

/** Turn an author's source into a script for the engine, or say what is wrong with it and where. Never throws. */
export function prepareSource(source: string, options: PrepareOptions = {}): PreparedSource {
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_CODE_BYTES;
  const maxDepth = options.maxDepth ?? DEFAULT_MAX_CODE_DEPTH;
  // A UTF-16 unit takes at least one byte and at most three, so most sources need no count.
  if (source.length > maxBytes || (source.length * 3 > maxBytes && Buffer.byteLength(source) > maxBytes)) {
    return refuse('', {
      offset: 0,
      message: `the program is larger than ${maxBytes} bytes: send less code, and pass data through tools`,
    });
  }
  const unfenced = stripFence(source);
  if (!unfenced.ok) {
    return refuse(source, {
      offset: unfenced.offset,
      message: 'SyntaxError: the source holds more than one Markdown block',
    });
  }
  const { code } = unfenced;
  const plain = attempt(code, () => parseJavaScript(code, maxDepth));
  if (plain.ok && !hasTypeArguments(code, plain.value)) return finish(code, plain.value, false);
  if (!plain.ok && plain.fault.reached === Number.POSITIVE_INFINITY) return refuse(code, plain.fault);
  const typed = prepareTypeScript(code, maxDepth);
  if ('ok' in typed) return typed;
  if (plain.ok) return finish(code, plain.value, false);
  // Of two readings that fail, the one that got further is the one the author meant.
  return refuse(code, typed.reached > plain.fault.reached ? typed : plain.fault);
}
