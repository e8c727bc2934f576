import { MAX_FRAME_NAME_CHARS, MAX_STACK_FRAMES } from '../limits.js';
import { escapeUnprintable } from './position.js';
import type { SourceOrigin } from './wrap.js';

/** The file name under which a script is evaluated, and which its stack traces show. */
export const GUEST_FILE = 'guest.js';

export interface MapStackOptions {
  readonly origin: SourceOrigin;
  /** The file name the script was evaluated under. */
  readonly fileName?: string;
}

// `    at name (guest.js:3:5)`, or `    at guest.js:3:5` for a syntax error.
const FRAME = /^\s*at (.*):(\d{1,9}):(\d{1,9})\)?$/;

function mapFrame(line: string, origin: SourceOrigin, fileName: string): string | undefined {
  const match = FRAME.exec(line);
  if (match === null) return undefined;
  const [, where = '', lineText, columnText] = match;
  const isNamed = where.endsWith(` (${fileName}`);
  if (!isNamed && where !== fileName) return undefined;
  const authorLine = Number(lineText) - origin.lineOffset;
  if (authorLine < 1 || authorLine > origin.lineCount) return undefined;
  let column = Number(columnText);
  const { inserted } = origin;
  if (inserted?.line === authorLine && column >= inserted.column) {
    column = Math.max(inserted.column, column - inserted.width);
  }
  const place = `${fileName}:${authorLine}:${column}`;
  if (!isNamed) return `    at ${place}`;
  const name = where.slice(0, -fileName.length - 2).slice(0, MAX_FRAME_NAME_CHARS);
  return `    at ${escapeUnprintable(name)} (${place})`;
}

/**
 * Turn the engine's stack trace into one that shows the author's lines. Only well-formed frames of the author's file are
 * kept: the text is the guest's to forge, and other frames are the engine's or the host's.
 */
export function mapStack(stack: string, options: MapStackOptions): string {
  const fileName = options.fileName ?? GUEST_FILE;
  const frames: string[] = [];
  for (const line of stack.split('\n')) {
    const frame = mapFrame(line, options.origin, fileName);
    if (frame !== undefined) frames.push(frame);
    if (frames.length === MAX_STACK_FRAMES) break;
  }
  return frames.join('\n');
}
