import type { Specification } from './specification.js';
import type { Suite } from './suite.js';

/** One sentence, and what is done about it. */
export interface CoveredSentence {
  readonly id: string;
  readonly section: string;
  readonly quote: string;
  /** Ids of the checks that cite it, of all suites. */
  readonly checks: readonly string[];
  readonly untested: string | undefined;
}

/** Maps every sentence of a specification to the checks that cite it. */
export function coverageOf(specification: Specification, suites: readonly Suite[]): CoveredSentence[] {
  const checks = suites.flatMap((suite) => suite.checks);
  return specification.sentences.map(({ id, section, quote, untested }) => ({
    id,
    section,
    quote,
    untested,
    checks: checks.filter(({ cites }) => cites.includes(id)).map((check) => check.id),
  }));
}

/** The specifications of all suites, each once. */
export function specificationsOf(suites: readonly Suite[]): Specification[] {
  return [...new Set(suites.flatMap(({ specifications }) => specifications))];
}

/** The coverage of all suites as Markdown: one table per specification. */
export function coverageMarkdown(suites: readonly Suite[]): string {
  const parts = specificationsOf(suites).map((specification) => {
    const rows = coverageOf(specification, suites);
    const tested = rows.filter(({ checks }) => checks.length > 0).length;
    return [
      `### ${specification.title}`,
      '',
      `${rows.length} sentences; ${tested} are tested, ${rows.length - tested} cannot be.`,
      '',
      '| section | sentence | checks |',
      '|---|---|---|',
      ...rows.map(({ section, quote, checks, untested }) => {
        const answer = checks.length > 0 ? checks.map((id) => `\`${id}\``).join(', ') : `none: ${untested ?? ''}`;
        return `| ${cell(section)} | ${cell(quote)} | ${cell(answer)} |`;
      }),
    ].join('\n');
  });
  return `${parts.join('\n\n')}\n`;
}

/** Checks without a sentence of their own, with the reason why they are asked for. */
export function recommendedMarkdown(suites: readonly Suite[]): string {
  const rows = suites
    .flatMap((suite) => suite.checks)
    .flatMap((check) =>
      check.level === 'RECOMMENDED' ? [`| \`${check.id}\` | ${cell(check.title)} | ${cell(check.reason)} |`] : [],
    );
  return ['| check | what it asks for | why |', '|---|---|---|', ...rows, ''].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');
}
