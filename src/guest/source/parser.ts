import { Parser as AcornParser, type Options, type Program } from 'acorn';
import { MAX_PARSE_STEPS_PER_CHARACTER, MIN_PARSE_STEPS } from '../limits.js';

// The parser's extension points, which its own type declarations leave out. The dependency is pinned to an exact version, and the
// tests of this folder fail if one of them goes away.
declare module 'acorn' {
  interface Parser {
    readonly start: number;
    readonly scopeStack: { readonly flags: number }[];
    enterScope(flags: number): void;
    exitScope(): void;
    currentScope(): { readonly flags: number };
    treatFunctionsAsVarInScope(scope: { readonly flags: number }): boolean;
    declareName(name: string, bindingType: number, offset: number): void;
    raiseRecoverable(offset: number, message: string): void;
    parseStatement(...rest: unknown[]): Node;
    parseMaybeAssign(...rest: unknown[]): Node;
    parseMaybeUnary(...rest: unknown[]): Node;
    parseExprAtom(...rest: unknown[]): Node;
    parseBindingAtom(...rest: unknown[]): Node;
  }
}

const SCOPE_FUNCTION = 2;
const SCOPE_ASYNC = 4;
const SCOPE_SIMPLE_CATCH = 32;
const SCOPE_VAR = 1 | SCOPE_FUNCTION | 256;
const BIND_LEXICAL = 2;
const BIND_FUNCTION = 3;
const BIND_SIMPLE_CATCH = 4;

const PATTERN_WEIGHT = 4;

const LEXICAL = 1;
const VAR = 2;
const FUNCTION = 4;
const CATCH = 8;

/** Raised when a program nests too deeply, or makes the parser go back too often. Not a `SyntaxError`, which a parser that tries two readings would swallow. */
export class ParseLimitError extends Error {
  constructor(
    readonly offset: number,
    readonly limit: 'depth' | 'steps',
  ) {
    super(`parse limit: ${limit}`);
  }
}

export interface ParseOptions extends Options {
  readonly maxDepth: number;
}

/** Make a parser read its input as the body of a sloppy async function, within a depth and a number of steps. */
export function asyncBody(Base: typeof AcornParser): typeof AcornParser {
  return class extends Base {
    #depth = 0;
    #steps = 0;
    readonly #maxDepth: number;
    readonly #maxSteps: number;

    constructor(options: ParseOptions, input: string, startPos?: number) {
      super(options, input, startPos);
      this.#maxDepth = options.maxDepth;
      this.#maxSteps = Math.max(MIN_PARSE_STEPS, input.length * MAX_PARSE_STEPS_PER_CHARACTER);
      this.exitScope();
      this.enterScope(SCOPE_FUNCTION | SCOPE_ASYNC);
    }

    #step(): void {
      if (++this.#depth > this.#maxDepth) throw new ParseLimitError(this.start, 'depth');
      if (++this.#steps > this.#maxSteps) throw new ParseLimitError(this.start, 'steps');
    }

    override parseStatement(...rest: unknown[]) {
      this.#step();
      try {
        return super.parseStatement(...rest);
      } finally {
        this.#depth--;
      }
    }

    override parseMaybeAssign(...rest: unknown[]) {
      this.#step();
      try {
        return super.parseMaybeAssign(...rest);
      } finally {
        this.#depth--;
      }
    }

    override parseMaybeUnary(...rest: unknown[]) {
      this.#step();
      try {
        return super.parseMaybeUnary(...rest);
      } finally {
        this.#depth--;
      }
    }

    override parseExprAtom(...rest: unknown[]) {
      this.#step();
      try {
        return super.parseExprAtom(...rest);
      } finally {
        this.#depth--;
      }
    }

    override parseBindingAtom(...rest: unknown[]) {
      this.#step();
      // The engine looks ahead over at most 255 brackets to tell a pattern from an expression.
      this.#depth += PATTERN_WEIGHT - 1;
      try {
        return super.parseBindingAtom(...rest);
      } finally {
        this.#depth -= PATTERN_WEIGHT;
      }
    }
  };
}

/**
 * Check redeclarations by hash. The parser's own check searches a list for each name: a MiB of `let` takes it half a minute.
 */
function hashedScopes(Base: typeof AcornParser): typeof AcornParser {
  return class extends Base {
    readonly #names = new WeakMap<object, Map<string, number>>();

    #kinds(scope: object): Map<string, number> {
      let names = this.#names.get(scope);
      if (names === undefined) {
        names = new Map();
        this.#names.set(scope, names);
      }
      return names;
    }

    override declareName(name: string, bindingType: number, offset: number): void {
      const scope = this.currentScope();
      const names = this.#kinds(scope);
      const kinds = names.get(name) ?? 0;
      let redeclared = false;
      if (bindingType === BIND_LEXICAL) {
        redeclared = kinds !== 0;
        names.set(name, kinds | LEXICAL);
      } else if (bindingType === BIND_SIMPLE_CATCH) {
        names.set(name, kinds | LEXICAL | CATCH);
      } else if (bindingType === BIND_FUNCTION) {
        redeclared = (kinds & (this.treatFunctionsAsVarInScope(scope) ? LEXICAL : LEXICAL | VAR)) !== 0;
        names.set(name, kinds | FUNCTION);
      } else redeclared = this.#declareVar(name);
      if (redeclared) this.raiseRecoverable(offset, `Identifier '${name}' has already been declared`);
    }

    /** A `var` passes through every block up to its function, and must not meet a lexical name on the way. */
    #declareVar(name: string): boolean {
      for (let index = this.scopeStack.length - 1; index >= 0; index--) {
        const scope = this.scopeStack[index];
        if (scope === undefined) break;
        const names = this.#kinds(scope);
        const kinds = names.get(name) ?? 0;
        const isCatchParameter = (scope.flags & SCOPE_SIMPLE_CATCH) !== 0 && (kinds & CATCH) !== 0;
        if ((kinds & LEXICAL) !== 0 && !isCatchParameter) return true;
        if ((kinds & FUNCTION) !== 0 && !this.treatFunctionsAsVarInScope(scope)) return true;
        names.set(name, kinds | VAR);
        if ((scope.flags & SCOPE_VAR) !== 0) break;
      }
      return false;
    }
  };
}

/** Accept what the wrapper accepts; imports and exports parse, so that they can be refused in words of our own. */
export const PARSE_OPTIONS = {
  ecmaVersion: 'latest',
  sourceType: 'script',
  allowImportExportEverywhere: true,
  allowHashBang: true,
} as const satisfies Options;

const JavaScriptParser = AcornParser.extend(hashedScopes, asyncBody);

/** Parse JavaScript as the body of an async function; throws `SyntaxError` or `ParseLimitError`. */
export function parseJavaScript(code: string, maxDepth: number): Program {
  const options: ParseOptions = { ...PARSE_OPTIONS, maxDepth };
  return JavaScriptParser.parse(code, options);
}
