/** A fenced block of a Markdown file, with the comment that stands right above it. */
export interface Fence {
  readonly language: string;
  readonly text: string;
  /** The line of the opening fence, from 1. */
  readonly line: number;
  /** What the comment says: `run`, `file: tools.mjs`, `prints`, `not run: why`. Empty when there is none. */
  readonly mark: string;
  /** Whether nothing but blank lines and its own mark stand between this fence and the one before. */
  readonly adjacent: boolean;
}

/** An example that is run, and what it prints where the document says so. */
export interface Example {
  readonly fence: Fence;
  readonly prints: string | undefined;
}

const OPENING = /^(`{3,})(\w*)\s*$/;
const COMMENT = /^<!-- (.+) -->$/;

/** Finds the fenced blocks of a Markdown text, in order. */
export function fencesOf(markdown: string): Fence[] {
  const lines = markdown.split('\n');
  const fences: Fence[] = [];
  let mark = '';
  let adjacent = false;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const [, ticks, language = ''] = OPENING.exec(line) ?? [];
    if (ticks !== undefined) {
      const end = lines.indexOf(ticks, at + 1);
      if (end === -1) throw new Error(`line ${at + 1}: the fence is never closed`);
      fences.push({ language, text: `${lines.slice(at + 1, end).join('\n')}\n`, line: at + 1, mark, adjacent });
      at = end;
      adjacent = true;
      mark = '';
      continue;
    }
    mark = COMMENT.exec(line)?.[1] ?? '';
    if (line !== '' && mark === '') adjacent = false;
  }
  return fences;
}

/** The examples to run: marked `run`, with the `text` right behind them or a later block marked `prints`. */
export function examplesOf(fences: readonly Fence[]): Example[] {
  return fences.flatMap((fence, index) => {
    if (fence.mark !== 'run') return [];
    const next = fences[index + 1];
    const answers = next !== undefined && (next.mark === 'prints' || (next.language === 'text' && next.adjacent));
    return [{ fence, prints: answers ? next.text : undefined }];
  });
}

/** The files that a document describes: marked `file: name`. */
export function filesOf(fences: readonly Fence[]): Map<string, string> {
  const named = fences.map(({ mark, text }) => [/^file: ([\w.-]+)$/.exec(mark)?.[1], text] as const);
  return new Map(named.flatMap(([name, text]) => (name === undefined ? [] : [[name, text] as const])));
}
