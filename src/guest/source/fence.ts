export type Unfenced = { readonly ok: true; readonly code: string } | { readonly ok: false; readonly offset: number };

const OPENING = /^\s*(`{3,}|~{3,})[^`\r\n]*(?:\r\n?|\n)/;

/**
 * Take off one Markdown fence around the whole source. The line of the opening fence stays as an empty line, so that the
 * author's line numbers hold. A second fence inside is refused: two blocks are not one program.
 */
export function stripFence(source: string): Unfenced {
  const opening = OPENING.exec(source);
  if (opening === null) return { ok: true, code: source };
  const [head, fence = ''] = opening;
  const trimmed = source.trimEnd();
  const lastLine = Math.max(trimmed.lastIndexOf('\n'), trimmed.lastIndexOf('\r')) + 1;
  const closing = trimmed.slice(lastLine).trim();
  const isClosed =
    lastLine >= head.length && closing.length >= fence.length && closing === fence.charAt(0).repeat(closing.length);
  if (!isClosed) return { ok: true, code: source };
  const body = trimmed.slice(head.length, lastLine);
  const inner = fence.startsWith('`') ? /^[ \t]*```/m.exec(body) : null;
  if (inner !== null) return { ok: false, offset: head.length + inner.index };
  return { ok: true, code: head.replace(/[^\r\n]/g, '') + body };
}
