import { getLineInfo } from 'acorn';
import { MAX_SOURCE_FRAME_CHARS } from '../limits.js';

/** A place in the author's source. Lines and columns count from 1, columns in UTF-16 units. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** Find the line and column of an offset. */
export function positionAt(code: string, offset: number): SourcePosition {
  const { line, column } = getLineInfo(code, Math.min(offset, code.length));
  return { line, column: column + 1 };
}

// Control characters, and those that reorder or hide text, would let a program repaint the terminal that shows it.
const UNPRINTABLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Escape characters that must not reach a terminal as they are. */
export function escapeUnprintable(text: string): string {
  const toEscape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(UNPRINTABLE, toEscape).replace(LONE_SURROGATE, toEscape);
}

/** Render the author's line with a caret under the column. */
export function sourceFrame(code: string, line: number, column: number): string {
  const text = (code.split(/\r\n?|[\n\u2028\u2029]/)[line - 1] ?? '').replaceAll('\t', ' ');
  const at = Math.max(0, Math.min(column - 1, text.length));
  const from = Math.max(0, Math.min(at - MAX_SOURCE_FRAME_CHARS / 2, text.length - MAX_SOURCE_FRAME_CHARS));
  const before = (from > 0 ? '…' : '') + escapeUnprintable(text.slice(from, at));
  const after = escapeUnprintable(text.slice(at, from + MAX_SOURCE_FRAME_CHARS));
  const ending = from + MAX_SOURCE_FRAME_CHARS < text.length ? '…' : '';
  const gutter = `${line} | `;
  return `${gutter}${before}${after}${ending}\n${' '.repeat(gutter.length + before.length)}^`;
}
