/** Finds the line of a value in a JSON document that is known to be well-formed. Counts from 1; 1 when it is not there. */
export function lineOf(text: string, path: readonly PropertyKey[]): number {
  const offset = new Finder(text).find(path);
  return lineAt(text, offset ?? 0);
}

/** The line of an offset. */
export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

class Finder {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  find(path: readonly PropertyKey[]): number | undefined {
    this.#space();
    const [step, ...rest] = path;
    if (step === undefined) return this.#at;
    const opening = this.#text[this.#at];
    if (opening !== '{' && opening !== '[') return undefined;
    this.#at += 1;
    for (let index = 0; ; index += 1) {
      this.#space();
      if (this.#at >= this.#text.length || this.#text[this.#at] === '}' || this.#text[this.#at] === ']')
        return undefined;
      const start = this.#at;
      const name: unknown = opening === '{' ? JSON.parse(this.#string()) : index;
      if (opening === '{') {
        this.#space();
        this.#at += 1;
      }
      if (name === step) return rest.length === 0 ? start : this.find(rest);
      this.#skip();
      this.#space();
      if (this.#text[this.#at] === ',') this.#at += 1;
    }
  }

  #space(): void {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #string(): string {
    const start = this.#at;
    this.#at += 1;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"')
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  #skip(): void {
    this.#space();
    let depth = 0;
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at];
      if (character === '"') this.#string();
      else {
        if (depth === 0 && (character === ',' || character === '}' || character === ']')) return;
        if (character === '{' || character === '[') depth += 1;
        if (character === '}' || character === ']') depth -= 1;
        this.#at += 1;
      }
    }
  }
}
