import { printable } from '../wire/printable.js';

/**
 * What came from untrusted code, as it may be written to a stream: a terminal obeys control characters, so all but line breaks
 * and tabs are escaped there; a file or a program gets the text as it is.
 */
export function shownOn(stream: { readonly isTTY?: boolean }, text: string): string {
  if (stream.isTTY !== true) return text;
  return text.replace(/[^\n\t]+/g, (part) => printable(part, Number.POSITIVE_INFINITY));
}
