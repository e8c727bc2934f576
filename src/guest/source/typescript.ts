import { createRequire } from 'node:module';
import type { tsPlugin } from '@sveltejs/acorn-typescript';
import { type Options, Parser, type Program } from 'acorn';
import { asyncBody, PARSE_OPTIONS, type ParseOptions } from './parser.js';

/** The check for redeclarations is left to the parse of the stripped program, which knows no overloads and merged interfaces. */
function withoutDeclarations(Base: typeof Parser): typeof Parser {
  return class extends Base {
    override declareName(): void {}
  };
}

/** The plugin itself, loaded on demand. */
export function loadTypeScriptPlugin(): ReturnType<typeof tsPlugin> {
  const plugin: { tsPlugin: typeof tsPlugin } = createRequire(import.meta.url)('@sveltejs/acorn-typescript');
  return plugin.tsPlugin();
}

let loaded: typeof Parser | undefined;

/** Load the TypeScript parser now. It takes tens of milliseconds, so it is otherwise loaded by the first program that needs it. */
export function loadTypeScript(): typeof Parser {
  if (loaded === undefined) {
    loaded = Parser.extend(loadTypeScriptPlugin(), withoutDeclarations, asyncBody);
  }
  return loaded;
}

/** Parse TypeScript as the body of an async function; throws `SyntaxError` or `ParseLimitError`. */
export function parseTypeScript(code: string, maxDepth: number): Program {
  // Parentheses are kept as nodes: where an expression ends decides what is blanked behind it.
  const options: ParseOptions & Options = { ...PARSE_OPTIONS, preserveParens: true, maxDepth };
  return loadTypeScript().parse(code, options);
}
