import type { ExpressionStatement, FunctionDeclaration, ModuleDeclaration, Program, Statement } from 'acorn';
import { positionAt, type SourcePosition } from './position.js';

/** How places in the script lead back to the author's source. */
export interface SourceOrigin {
  /** Lines that the script has before the author's first. */
  readonly lineOffset: number;
  /** Lines of the author's source. */
  readonly lineCount: number;
  /** Text of ours in one of the author's lines; what stands behind it on that line is `width` columns further right. */
  readonly inserted?: SourcePosition & { readonly width: number };
}

export interface Wrapped {
  readonly script: string;
  readonly origin: SourceOrigin;
}

const PREFIX = '(async function () {\n';
const LINE_OFFSET = 1;
const RETURN = 'return (';

type Item = Statement | ModuleDeclaration;

const isDirective = (item: Item): boolean => item.type === 'ExpressionStatement' && typeof item.directive === 'string';

function isPlainFunction(statement: ExpressionStatement): boolean {
  const { expression } = statement;
  if (expression.type === 'ArrowFunctionExpression') return true;
  return expression.type === 'FunctionExpression' && !expression.generator;
}

/** Find the statement that gives the value: the last one that does something when it is reached, if it is an expression. */
function findValue(program: Program): ExpressionStatement | FunctionDeclaration | undefined {
  const items: Item[] = program.body.filter((item) => item.type !== 'EmptyStatement');
  const code = items.filter((item) => !isDirective(item));
  const only = code.length === 1 ? code[0] : undefined;
  if (only?.type === 'FunctionDeclaration') return only.generator ? undefined : only;
  if (code.length === 0) {
    const last = items.at(-1);
    return last?.type === 'ExpressionStatement' ? last : undefined;
  }
  // A function declaration takes effect before the first statement, wherever it stands.
  const last = code.findLast((item) => item.type !== 'FunctionDeclaration');
  return last?.type === 'ExpressionStatement' ? last : undefined;
}

/**
 * Wrap a parsed program so that evaluating the script yields an async function, and calling that function runs the program.
 *
 * `code` is known to be a whole function body, so it cannot close the wrapper. All of ours stands on lines of its own, except the
 * `return (` and `)` around a last expression: a line comment cannot swallow it and the author's lines keep their numbers.
 */
export function wrapProgram(code: string, program: Program): Wrapped {
  // A hashbang is a comment at the very start of a script only; behind the prefix it has to be an ordinary one.
  const body = code.startsWith('#!') ? `//${code.slice(2)}` : code;
  const lineCount = positionAt(code, code.length).line;
  const plain: SourceOrigin = { lineOffset: LINE_OFFSET, lineCount };
  const value = findValue(program);
  if (value === undefined) return { script: `${PREFIX}${body}\n})`, origin: plain };
  if (value.type === 'FunctionDeclaration') {
    return { script: `${PREFIX}${body}\nreturn ${body.slice(value.id.start, value.id.end)}();\n})`, origin: plain };
  }
  const { start } = value;
  // No expression ends in a semicolon, so one at the end of the statement is its terminator.
  const end = body[value.end - 1] === ';' ? value.end - 1 : value.end;
  const isOnly = program.body.every((item) => item === value || item.type === 'EmptyStatement' || isDirective(item));
  const close = isOnly && isPlainFunction(value) ? ')()' : ')';
  // What follows on the same line was separated by a line break or a brace, or begins with the semicolon that is kept.
  const script = `${PREFIX}${body.slice(0, start)}${RETURN}${body.slice(start, end)}${close}${body.slice(end)}\n})`;
  return { script, origin: { ...plain, inserted: { ...positionAt(code, start), width: RETURN.length } } };
}
