import type { Program } from 'acorn';
import { walk } from './walk.js';

export interface ModuleSyntax {
  readonly offset: number;
  readonly message: string;
}

const WITHOUT_MODULES =
  'a program runs without modules; call the tools that are in scope, and use the built-in objects of JavaScript';

const quote = (value: unknown): string =>
  typeof value === 'string' ? ` of ${JSON.stringify(value.slice(0, 100))}` : '';

/** Find the first `import` or `export`, which no program can use. */
export function findModuleSyntax(code: string, program: Program): ModuleSyntax | undefined {
  // Neither keyword may be written with escapes, so text without them holds none.
  if (!code.includes('import') && !code.includes('export')) return undefined;
  let first: ModuleSyntax | undefined;
  const found = (offset: number, message: string) => {
    if (first === undefined || offset < first.offset) first = { offset, message };
  };
  walk(program, (node) => {
    switch (node.type) {
      case 'ImportDeclaration':
        found(node.start, `import${quote(node.source.value)} is not available: ${WITHOUT_MODULES}`);
        break;
      case 'ImportExpression':
        found(
          node.start,
          `import()${quote(node.source.type === 'Literal' ? node.source.value : undefined)} is not available: ${WITHOUT_MODULES}`,
        );
        break;
      case 'MetaProperty':
        if (node.meta.name === 'import') found(node.start, `import.meta is not available: ${WITHOUT_MODULES}`);
        break;
      case 'ExportNamedDeclaration':
      case 'ExportDefaultDeclaration':
      case 'ExportAllDeclaration':
        found(
          node.start,
          'export is not available: a program is the body of an async function; give its value with `return`, or as the last expression',
        );
        break;
    }
    return undefined;
  });
  return first;
}
