import type { BinaryExpression, Program } from 'acorn';
import { walk } from './walk.js';

const CANDIDATE = /[^=]>\s*\(/;
const TYPE_WORDS = new Set([
  'any',
  'bigint',
  'boolean',
  'never',
  'number',
  'object',
  'string',
  'symbol',
  'unknown',
  'void',
]);

function mayBeTypeArguments(code: string, node: BinaryExpression): boolean {
  const { left, operator, right } = node;
  if (operator === '<') {
    const isNew = left.type === 'NewExpression' && code[left.end - 1] !== ')';
    const isShift = right.type === 'BinaryExpression' && right.operator.startsWith('>>');
    return isNew || isShift || (right.type === 'Identifier' && TYPE_WORDS.has(right.name));
  }
  return operator === '>' && left.type === 'BinaryExpression' && left.operator === '<';
}

/**
 * Tell whether a program that parses as JavaScript may hold `f<T>(x)`: comparisons to JavaScript, which nobody means, and a call
 * with type arguments to TypeScript. The TypeScript parser decides; a comparison stays one where it cannot be a type.
 */
export function hasTypeArguments(code: string, program: Program): boolean {
  if (!code.includes('<') || !CANDIDATE.test(code)) return false;
  let found = false;
  walk(program, (node) => {
    if (found) return [];
    found = node.type === 'BinaryExpression' && mayBeTypeArguments(code, node);
    return undefined;
  });
  return found;
}
