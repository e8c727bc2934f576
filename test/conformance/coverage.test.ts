import { describe, expect, it } from 'vitest';
import { specificationsOf } from '../../src/conformance/coverage.js';
import { coverageMarkdown, coverageOf, recommendedMarkdown, SUITES, type Suite } from '../../src/conformance/index.js';
import { PING_SUITE } from './ping-suite.js';

const suites: Suite[] = await Promise.all(SUITES.map(({ load }) => load()));
const sentences = specificationsOf(suites).flatMap((specification) => coverageOf(specification, suites));

describe('the coverage table', () => {
  it('maps each sentence to its checks or to the reason why there is none', () => {
    const table = coverageMarkdown([PING_SUITE]);
    expect(table).toContain('3 sentences; 2 are tested, 1 cannot be.');
    expect(table).toContain('| All | must answer &lt;ping> with pong | `ping.answer.pong`, `ping.never` |');
    expect(table).toContain('| All | should have taste | none: there is no arguing about it |');
    expect(recommendedMarkdown([PING_SUITE])).toContain('| `ping.end.quick` | The target ends with its input | nobody');
  });
});

describe('the suites', () => {
  it('leave no sentence without a check or a reason, and give no reason where there is a check', () => {
    const undecided = sentences.filter(({ checks, untested }) => checks.length > 0 === (untested !== undefined));
    expect(undecided.map(({ id }) => id)).toEqual([]);
  });

  it('have sentences with ids of their own, in few words', () => {
    expect(new Set(sentences.map(({ id }) => id)).size).toBe(sentences.length);
    expect(sentences.filter(({ quote }) => quote.length > 160).map(({ id }) => id)).toEqual([]);
  });

  it.each(suites.map((suite) => [suite.name, suite] as const))('%s has checks in good order', (name, suite) => {
    const known = new Set(suite.specifications.flatMap((specification) => specification.sentences.map(({ id }) => id)));
    const ids = suite.checks.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, level, group, cites } of suite.checks) {
      expect(id).toMatch(new RegExp(`^${name}(\\.[a-z0-9-]+){2}$`));
      expect(suite.groups, id).toContain(group);
      expect(
        cites.filter((cited) => !known.has(cited)),
        id,
      ).toEqual([]);
      if (level !== 'RECOMMENDED') expect(cites.length, id).toBeGreaterThan(0);
    }
  });

  it.each(SUITES.map((entry) => [entry.name, entry] as const))(
    '%s is listed under its own name',
    async (name, entry) => {
      expect((await entry.load()).name).toBe(name);
    },
  );
});
