/** Beyond this the table of distances costs more than a suggestion is worth. */
const MAX_COMPARED_CHARS = 64;

/** Finds the known name that a misspelt one most likely means, or nothing when none is near. */
export function closestName(wanted: string, known: Iterable<string>): string | undefined {
  if (wanted.length > MAX_COMPARED_CHARS) return undefined;
  const target = fold(wanted);
  // One slip for short names, about one in three characters for long ones.
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  let best: { name: string; distance: number } | undefined;
  for (const name of known) {
    if (name.length > MAX_COMPARED_CHARS || Math.abs(name.length - wanted.length) > allowed) continue;
    const distance = editDistance(target, fold(name));
    if (distance <= allowed && (best === undefined || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

/** Case and separators are what people get wrong first, so `getWeather` and `get_weather` count as near. */
function fold(name: string): string {
  return name.toLowerCase().replaceAll('-', '_');
}

/** Counts insertions, deletions, substitutions and swaps of neighbours between two strings. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const cost = a[row - 1] === b[column - 1] ? 0 : 1;
      let distance = Math.min(last[column]! + 1, current[column - 1]! + 1, last[column - 1]! + cost);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) distance = Math.min(distance, beforeLast[column - 2]! + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length]!;
}
