/** Follows a local reference (`#`, `#/$defs/Node`) through own properties, and finds a schema or nothing. */
export function resolveLocalRef(root: unknown, ref: string): unknown {
  if (ref === '#' || ref === '') return root;
  if (!ref.startsWith('#/')) return undefined;
  let current: unknown = root;
  for (const part of ref.slice(2).split('/')) {
    if (typeof current !== 'object' || current === null) return undefined;
    const key = decodePart(part);
    if (key === undefined || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}

function decodePart(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined;
  }
}
