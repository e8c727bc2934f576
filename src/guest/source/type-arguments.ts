import type { Program } from 'acorn';
import { walk } from './walk.js';

const CANDIDATE = /[^=]>\s*\(/;

/**
 * Tell whether a program that parses as JavaScript holds `f<T>(x)`: two comparisons to JavaScript, which nobody means, and a call
 * with type arguments to TypeScript.
 */
export function hasTypeArguments(code: string, program: Program): boolean {
  if (!code.includes('<') || !CANDIDATE.test(code)) return false;
  let found = false;
  walk(program, (node) => {
    if (found) return [];
    if (node.type === 'BinaryExpression' && node.operator === '>' && node.left.type === 'BinaryExpression') {
      const between = code.slice(node.left.end, node.right.start);
      found = node.left.operator === '<' && /^\s*>\s*\(/.test(between);
    }
    return undefined;
  });
  return found;
}
