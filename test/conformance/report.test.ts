import { beforeAll, describe, expect, it } from 'vitest';
import { badge, jsonReport, junitReport, type Report, textReport } from '../../src/conformance/index.js';
import { PING, runPing, script } from './ping-suite.js';

let report: Report;
beforeAll(async () => {
  report = await runPing(
    script(`onPing(() => { say({ type: 'pong' }); say({ type: 'pong', text: '<\\u001b[31m&' }); });`),
  );
});

const text = (transcripts: 'all' | 'none') =>
  textReport(report, { specifications: [PING], transcripts, again: (id) => `again ${id}` });

describe('a report', () => {
  it('as text names every check, explains failures, and ends with the summary', () => {
    const lines = text('none').split('\n');
    expect(lines).toContain('  ✓ ping.answer.pong: A ping is answered');
    expect(lines).toContain('  ✗ SHOULD ping.answer.once: A ping is answered once');
    expect(lines).toContain('      says:      “should do so once” (ping | pong, All)');
    expect(lines).toContain('      came back: {"type":"pong","text":"<\\u001b[31m&"}');
    expect(lines).toContain('      again:     again ping.answer.once');
    expect(lines).toContain('  – ping.never: Nothing can be asked (skipped: it is not there)');
    expect(lines).toContain('Core: 1/1 · More: 1/2');
    expect(lines.at(-2)).toMatch(/^2 passed, 1 failed \(0 of them MUST\), 1 skipped, in [\d.]+ s$/);
  });

  it('as text has transcripts where they are asked for', () => {
    expect(text('all').match(/→ \{"type":"ping"\}/g)?.length).toBe(2);
    expect(text('none')).not.toContain('→');
  });

  it('as JSON has the facts of every check, and transcripts of those that failed', () => {
    const parsed = JSON.parse(jsonReport(report, 'failed'));
    expect(parsed).toMatchObject({ suite: 'ping', passed: 2, failed: 1, failedMusts: 0, skipped: 1 });
    expect(parsed.checks.map((check: { transcript?: unknown }) => check.transcript !== undefined)).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect(parsed.checks[3]).toMatchObject({ status: 'skipped', skipReason: 'it is not there' });
    expect(parsed.checks[1]).toMatchObject({ id: 'ping.answer.once', status: 'failed', level: 'SHOULD' });
    expect(JSON.parse(jsonReport(report, 'all')).checks[0].transcript.length).toBeGreaterThan(1);
  });

  it('as JUnit has a suite per group and escapes what a target said', () => {
    const xml = junitReport(report);
    expect(xml).toContain('<testsuites name="ping pong" tests="4" failures="1" skipped="1"');
    expect(xml).toContain('<testsuite name="ping: More" tests="3"');
    expect(xml).toMatch(
      /name="ping.answer.once" time="[\d.]+"><failure type="SHOULD" message="expected no second pong">/,
    );
    expect(xml).toContain('&lt;\\u001b[31m&amp;');
    expect(xml).not.toMatch(/[^\n\x20-\x7e–✓✗→←·]/);
  });

  it('as JSON keeps the reason of a check that is RECOMMENDED beside that of skipping it', () => {
    const recommended = { level: 'RECOMMENDED', reason: 'ours' } as const;
    const outcomes = report.outcomes.map((outcome) => ({ ...outcome, check: { ...outcome.check, ...recommended } }));
    const { checks } = JSON.parse(jsonReport({ ...report, outcomes }, 'failed'));
    expect(checks[3]).toMatchObject({ reason: 'ours', skipReason: 'it is not there' });
  });

  it('has what a target said cut, and without characters that a terminal obeys', async () => {
    const long = await runPing(
      script(`onPing(() => { say({ type: 'pong' }); say({ type: 'pong', text: '\\u009b31m' + 'x'.repeat(9000) }); });`),
    );
    const verdict = long.outcomes.find(({ check }) => check.id === 'ping.answer.once')?.verdict;
    const { cameBack } = verdict?.status === 'failed' ? verdict.failure : { cameBack: '' };
    expect(cameBack).toContain('\\u009b31mxxx');
    expect(cameBack.length).toBeLessThan(2_100);
  });

  it('as a badge is green, yellow, red or grey', () => {
    const change = (level: 'MUST' | 'SHOULD', ids: readonly string[]): Report => ({
      ...report,
      outcomes: report.outcomes
        .filter(({ check }) => ids.includes(check.id))
        .map((outcome) => ({ ...outcome, check: { ...outcome.check, level } })),
    });
    expect(badge(report)).toContain('>2/3<');
    expect(badge(report)).toContain('#b7950b');
    expect(badge(change('MUST', ['ping.answer.once']))).toContain('#c0392b');
    expect(badge(change('MUST', ['ping.answer.pong']))).toContain('#1e8449');
    expect(badge(change('MUST', ['ping.never']))).toContain('#707070');
  });
});
