import type { AnyNode, Node } from 'acorn';

/** Tells a node of a syntax tree from its other fields. */
export function isNode<N extends Node = AnyNode>(value: unknown): value is N {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/**
 * Visit every node below `root`, parents first, in no particular order among siblings. The visitor may answer with the nodes to
 * go on with, in place of all children. The walk keeps its own stack: `a + a + a …` nests as deep as it is long.
 */
export function walk(root: Node, visit: (node: AnyNode) => readonly Node[] | undefined): void {
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const next = pending.pop();
    if (Array.isArray(next)) for (const item of next) pending.push(item);
    else if (isNode(next)) {
      for (const child of visit(next) ?? Object.values(next)) {
        if (typeof child === 'object' && child !== null) pending.push(child);
      }
    }
  }
}
