import type { Node, Program } from 'acorn';
import { isNode, walk } from './walk.js';

export type Stripped =
  | { readonly ok: true; readonly code: string }
  | { readonly ok: false; readonly offset: number; readonly message: string };

/** A node as the TypeScript parser makes it: the syntax tree of JavaScript with fields of its own. */
interface TypedNode extends Node {
  readonly [field: string]: unknown;
}

interface Blank {
  readonly start: number;
  readonly end: number;
  /** Text that takes the place of the first characters. */
  readonly head: string;
  /** Text that takes the place of the last characters. */
  readonly tail: string;
}

class Unsupported extends Error {
  constructor(
    readonly offset: number,
    message: string,
  ) {
    super(message);
  }
}

const isTyped = isNode<TypedNode>;
const nodeOf = (value: unknown): TypedNode | undefined => (isTyped(value) ? value : undefined);
const nodesOf = (value: unknown): TypedNode[] => (Array.isArray(value) ? value.filter(isTyped) : []);

const NEEDS_CODE: Readonly<Record<string, string>> = {
  TSEnumDeclaration:
    '`enum` is not available: types are stripped, not compiled; use an object, `const Name = { A: 0 }`',
  TSParameterProperty:
    'a parameter property is not available: types are stripped, not compiled; declare the field and assign it in the constructor',
  TSImportEqualsDeclaration:
    '`import x = …` is not available: a program runs without modules; call the tools that are in scope',
  TSExportAssignment: '`export =` is not available: give the value with `return`, or as the last expression',
  TSNamespaceExportDeclaration: '`export as namespace` is not available: a program runs without modules',
  Decorator: 'decorators are not available: types are stripped, not compiled; call the function instead',
  AccessorProperty: '`accessor` is not available: write a getter and a setter',
};

const NAMESPACE = '`namespace` with values is not available: types are stripped, not compiled; use an object';
const TYPE_ONLY_STATEMENTS = new Set(['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'TSDeclareFunction']);
const TYPE_ONLY_PARTS = new Set([
  'TSTypeAnnotation',
  'TSTypeParameterDeclaration',
  'TSTypeParameterInstantiation',
  'TSExpressionWithTypeArguments',
]);
const MODIFIERS = new Set(['public', 'private', 'protected', 'readonly', 'override', 'abstract', 'declare']);
const WORD = /[\p{ID_Continue}$\u200c\u200d]+/uy;
const GAP = /(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)*/y;
const LINE_BREAK = /[\n\r\u2028\u2029]/;
/** What reads as something else than an expression where a statement or an arrow's body begins. */
const NOT_AN_EXPRESSION = /^(?:\{|(?:function|class|async|let)(?![\p{ID_Continue}$]))/u;

function isTypeOnlyStatement(node: TypedNode): boolean {
  if (TYPE_ONLY_STATEMENTS.has(node.type) || node['declare'] === true) return true;
  switch (node.type) {
    case 'ImportDeclaration': {
      const specifiers = nodesOf(node['specifiers']);
      const areTypes = specifiers.length > 0 && specifiers.every((specifier) => specifier['importKind'] === 'type');
      return node['importKind'] === 'type' || areTypes;
    }
    case 'ExportDefaultDeclaration':
    case 'ExportNamedDeclaration': {
      const declaration = nodeOf(node['declaration']);
      return node['exportKind'] === 'type' || (declaration !== undefined && isTypeOnlyStatement(declaration));
    }
    case 'ExportAllDeclaration':
      return node['exportKind'] === 'type';
    case 'TSModuleDeclaration': {
      const body = nodeOf(node['body']);
      if (body === undefined) return false;
      return body.type === 'TSModuleDeclaration'
        ? isTypeOnlyStatement(body)
        : nodesOf(body['body']).every(isTypeOnlyStatement);
    }
    default:
      return false;
  }
}

/** Collects what is blanked. Every rule keeps the length of the text and its line breaks. */
class Stripper {
  readonly #blanks: Blank[] = [];
  /** Statements and fields that end without a semicolon. */
  readonly #open = new Set<number>();
  /** Declarations in the head of a loop, which no semicolon may end early. */
  readonly #loopHeads = new Set<Node>();

  constructor(readonly code: string) {}

  blank(start: number, end: number, replacement: { head?: string; tail?: string } = {}): void {
    if (end > start) this.#blanks.push({ start, end, head: replacement.head ?? '', tail: replacement.tail ?? '' });
  }

  /** Find the next character that is neither white space nor in a comment. */
  #skipGap(offset: number): number {
    GAP.lastIndex = offset;
    return offset + (GAP.exec(this.code)?.[0].length ?? 0);
  }

  #blankMark(from: number, mark: string): void {
    const at = this.#skipGap(from);
    if (this.code[at] === mark) this.blank(at, at + 1);
  }

  #hasBreak(node: Node): boolean {
    return LINE_BREAK.test(this.code.slice(node.start, node.end));
  }

  visit(node: TypedNode): readonly Node[] | undefined {
    const refusal = NEEDS_CODE[node.type];
    if (node['decorators'] !== undefined && nodesOf(node['decorators']).length > 0) {
      throw new Unsupported(node.start, NEEDS_CODE['Decorator'] ?? '');
    }
    if (refusal !== undefined && node['declare'] !== true) throw new Unsupported(node.start, refusal);
    if (node.type !== 'PropertyDefinition' && isTypeOnlyStatement(node)) {
      // The semicolon keeps the statements before and after it apart.
      this.blank(node.start, node.end, { head: ';' });
      return [];
    }
    if (TYPE_ONLY_PARTS.has(node.type)) {
      this.blank(node.start, node.end);
      return [];
    }
    return this.#visitCode(node);
  }

  /** One name among others that only means a type goes with its comma. */
  #visitSpecifier(node: TypedNode): readonly Node[] | undefined {
    if (node['importKind'] !== 'type' && node['exportKind'] !== 'type') return undefined;
    this.blank(node.start, node.end);
    this.#blankMark(node.end, ',');
    return [];
  }

  #visitCode(node: TypedNode): readonly Node[] | undefined {
    switch (node.type) {
      case 'ImportSpecifier':
      case 'ExportSpecifier':
        return this.#visitSpecifier(node);
      case 'TSModuleDeclaration':
        throw new Unsupported(node.start, NAMESPACE);
      case 'TSAsExpression':
      case 'TSSatisfiesExpression':
        return this.#visitSuffix(node);
      case 'TSNonNullExpression':
        this.blank(node.end - 1, node.end);
        return undefined;
      case 'TSTypeAssertion':
        return this.#visitAssertion(node);
      case 'TSInstantiationExpression':
        return undefined;
      case 'ExpressionStatement':
      case 'ArrowFunctionExpression':
        this.#checkStart(node);
        if (node.type === 'ArrowFunctionExpression') return this.#visitArrow(node);
        this.#noteEnd(node);
        return undefined;
      case 'ForStatement':
      case 'ForInStatement':
      case 'ForOfStatement': {
        const head = nodeOf(node['init'] ?? node['left']);
        if (head !== undefined) this.#loopHeads.add(head);
        return undefined;
      }
      case 'VariableDeclaration':
      case 'ReturnStatement':
      case 'ThrowStatement':
        this.#noteEnd(node);
        return undefined;
      case 'VariableDeclarator': {
        const id = nodeOf(node['id']);
        if (node['definite'] === true && id !== undefined) this.#blankMark(this.#nameEnd(id), '!');
        return undefined;
      }
      case 'FunctionDeclaration':
      case 'FunctionExpression':
        this.#visitParameters(node);
        return undefined;
      case 'ClassDeclaration':
      case 'ClassExpression':
        return this.#visitClass(node);
      case 'PropertyDefinition':
      case 'MethodDefinition':
      case 'TSAbstractMethodDefinition':
      case 'TSAbstractPropertyDefinition':
      case 'TSIndexSignature':
        return this.#visitMember(node);
      default:
        if (node.type.startsWith('TS')) {
          throw new Unsupported(
            node.start,
            `this TypeScript construct (${node.type.slice(2)}) is not available: write it in JavaScript`,
          );
        }
        if (node['optional'] === true && node.type === 'Identifier') {
          this.#blankMark(this.#nameEnd(node), '?');
        }
        return undefined;
    }
  }

  /** `x as T`: nothing is left behind the expression. */
  #visitSuffix(node: TypedNode): readonly Node[] | undefined {
    const expression = nodeOf(node['expression']);
    if (expression === undefined) return undefined;
    this.blank(expression.end, node.end);
    return [expression];
  }

  /** `<T>x`: nothing is left before the expression. */
  #visitAssertion(node: TypedNode): readonly Node[] | undefined {
    const expression = nodeOf(node['expression']);
    if (expression === undefined) return undefined;
    if (LINE_BREAK.test(this.code.slice(node.start, expression.start))) {
      throw new Unsupported(node.start, 'a type assertion `<T>x` over several lines is not available: write `x as T`');
    }
    this.blank(node.start, expression.start);
    return [expression];
  }

  /** Refuse `() => <T>{}` and the like, which would read as a block without its assertion. */
  #checkStart(node: TypedNode): void {
    let inner = nodeOf(node.type === 'ExpressionStatement' ? node['expression'] : node['body']);
    const start = inner?.start;
    let isAsserted = false;
    while (inner !== undefined && inner.start === start) {
      if (inner.type === 'TSTypeAssertion') {
        isAsserted = true;
        break;
      }
      inner = nodeOf(
        inner['expression'] ?? inner['object'] ?? inner['callee'] ?? inner['left'] ?? inner['test'] ?? inner['tag'],
      );
    }
    let asserted = inner;
    while (asserted?.type === 'TSTypeAssertion') asserted = nodeOf(asserted['expression']);
    if (
      isAsserted &&
      asserted !== undefined &&
      NOT_AN_EXPRESSION.test(this.code.slice(asserted.start, asserted.start + 10))
    ) {
      throw new Unsupported(node.start, 'a type assertion `<T>x` is not available here: write `(x as T)`');
    }
  }

  #noteEnd(node: TypedNode): void {
    if (this.code[node.end - 1] !== ';' && !this.#loopHeads.has(node)) this.#open.add(node.end);
  }

  /** Find where a name ends, without the mark and the type behind it. */
  #nameEnd(node: TypedNode): number {
    WORD.lastIndex = node.start;
    return node.start + (WORD.exec(this.code)?.[0].length ?? 0);
  }

  #visitParameters(node: TypedNode): void {
    const [first, second] = nodesOf(node['params']);
    if (first?.type !== 'Identifier' || first['name'] !== 'this') return;
    if (second !== undefined) this.blank(first.start, second.start);
    else {
      const next = this.#skipGap(first.end);
      this.blank(first.start, this.code[next] === ',' ? next + 1 : first.end);
    }
  }

  /** An arrow may not begin a line, nor may a line break follow `async` or `return`: the parentheses move to where the types were. */
  #visitArrow(node: TypedNode): undefined {
    const typeParameters = nodeOf(node['typeParameters']);
    const returnType = nodeOf(node['returnType']);
    if (typeParameters !== undefined && this.#hasBreak(typeParameters)) {
      const opening = this.#skipGap(typeParameters.end);
      this.blank(typeParameters.start, opening + 1, { head: '(' });
    }
    if (returnType !== undefined && this.#hasBreak(returnType)) {
      const closing = this.code.lastIndexOf(')', returnType.start);
      this.blank(closing, returnType.end, { tail: ')' });
    }
    return undefined;
  }

  #visitClass(node: TypedNode): undefined {
    if (node['abstract'] === true && this.code.startsWith('abstract', node.start)) {
      this.blank(node.start, node.start + 'abstract'.length);
    }
    const interfaces = nodesOf(node['implements']);
    const first = interfaces[0];
    const last = interfaces.at(-1);
    if (first !== undefined && last !== undefined)
      this.blank(this.code.lastIndexOf('implements', first.start), last.end);
    return undefined;
  }

  #visitMember(node: TypedNode): readonly Node[] | undefined {
    const key = nodeOf(node['key']);
    const value = nodeOf(node['value']);
    const isBodiless = value?.type === 'TSDeclareMethod' || value?.type === 'TSEmptyBodyFunctionExpression';
    if (key === undefined || isBodiless || node['declare'] === true || node['abstract'] === true) {
      this.blank(node.start, node.end, { head: ';' });
      return [];
    }
    if (node['accessor'] === true) throw new Unsupported(node.start, NEEDS_CODE['AccessorProperty'] ?? '');
    this.#blankModifiers(node.start, key.start);
    const afterKey = node['computed'] === true ? this.code.indexOf(']', key.end) + 1 : key.end;
    if (node['optional'] === true) this.#blankMark(afterKey, '?');
    if (node['definite'] === true) this.#blankMark(afterKey, '!');
    if (node.type === 'PropertyDefinition') this.#noteEnd(node);
    return undefined;
  }

  #blankModifiers(start: number, end: number): void {
    let at = start;
    while (at < end) {
      WORD.lastIndex = at;
      const word = WORD.exec(this.code)?.[0];
      if (word === undefined) return;
      // A modifier at the start of a member also ends the member before it, as it did while it stood there.
      if (MODIFIERS.has(word)) this.blank(at, at + word.length, at === start ? { head: ';' } : {});
      at = this.#skipGap(at + word.length);
    }
  }

  apply(): string {
    // Larger ranges first: one that lies within another adds nothing, and would undo its replacement.
    const blanks = this.#blanks.toSorted((a, b) => a.start - b.start || b.end - a.end);
    const parts: string[] = [];
    let done = 0;
    for (const { start, end, head, tail } of blanks) {
      if (end <= done) continue;
      const from = Math.max(start, done);
      parts.push(this.code.slice(done, from));
      // A statement that ended with a type and a line break now needs its semicolon: `x as T` before a line that begins with `(`.
      const lead = head === '' && tail === '' && this.#open.has(end) ? ';' : head;
      parts.push(blankText(this.code.slice(from, end), lead, tail));
      done = end;
    }
    parts.push(this.code.slice(done));
    return parts.join('');
  }
}

function toTyped(node: Node): TypedNode {
  return isTyped(node) ? node : { ...node };
}

/** Replace text by spaces, keep its line breaks, and put `head` and `tail` at its ends. */
function blankText(text: string, head: string, tail: string): string {
  const blank = text.replace(/[^\n\r\u2028\u2029]/g, ' ');
  if (head !== '') return blank.replace(' ', head);
  return tail === '' ? blank : blank.slice(0, -tail.length) + tail;
}

/** Replace the types of a parsed program by spaces: same length, same lines, and JavaScript. */
export function stripTypes(code: string, program: Program): Stripped {
  const stripper = new Stripper(code);
  try {
    walk(program, (node) => stripper.visit(toTyped(node)));
  } catch (error) {
    if (error instanceof Unsupported) return { ok: false, offset: error.offset, message: error.message };
    throw error;
  }
  return { ok: true, code: stripper.apply() };
}
