const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** Writes a property name: bare where it is an identifier, quoted otherwise. */
export function propertyName(name: string): string {
  return IDENTIFIER.test(name) ? name : stringLiteral(name);
}

/** Writes a string as a literal that stays on one line whatever it holds. */
export function stringLiteral(text: string): string {
  return JSON.stringify(text).replace(/[\u007F-\u009F\u2028\u2029]/g, escapeUnit);
}

/** Makes text safe inside a comment: it cannot end the comment, and breaks lines only where a line may break. */
export function commentLines(text: string): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) =>
    line
      .replaceAll('*/', '*\\/')
      .replace(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, escapeUnit)
      .trimEnd(),
  );
}

/** Indents every line of a text but the first. */
export function indentRest(text: string): string {
  return text.replaceAll('\n', '\n  ');
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
