const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&apos;'],
]);

/** Escapes text for XML, with characters that XML cannot hold at all as replacement characters. */
export function escapeXml(text: string): string {
  return text
    .replaceAll(/[&<>"']/g, (character) => ENTITIES.get(character) ?? character)
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
}
