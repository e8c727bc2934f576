import { countOf, type Outcome, type Report } from '../outcome.js';
import { transcriptLines } from '../transcript.js';
import { escapeXml } from './xml.js';

/** A JUnit file: one test suite per group, and the level as the type of a failure. */
export function junitReport(report: Report): string {
  const groups = report.groups.map((group) => ({
    group,
    outcomes: report.outcomes.filter(({ check }) => check.group === group),
  }));
  const suites = groups.filter(({ outcomes }) => outcomes.length > 0);
  const body = suites.map(({ group, outcomes }) => testSuite(`${report.suite}: ${group}`, report.suite, outcomes));
  const head = `<testsuites name="${escapeXml(report.title)}"${counts(report.outcomes)}>`;
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...body, '</testsuites>', ''].join('\n');
}

function counts(outcomes: readonly Outcome[]): string {
  const { failed, skipped } = countOf(outcomes);
  const seconds = outcomes.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1_000;
  return ` tests="${outcomes.length}" failures="${failed}" skipped="${skipped}" time="${seconds.toFixed(3)}"`;
}

function testSuite(name: string, suite: string, outcomes: readonly Outcome[]): string {
  const cases = outcomes.map((outcome) => testCase(suite, outcome));
  return [`  <testsuite name="${escapeXml(name)}"${counts(outcomes)}>`, ...cases, '  </testsuite>'].join('\n');
}

function testCase(suite: string, { check, verdict, durationMs, transcript }: Outcome): string {
  const seconds = (durationMs / 1_000).toFixed(3);
  const open = `    <testcase classname="${escapeXml(`sallyport.conformance.${suite}`)}" name="${escapeXml(check.id)}" time="${seconds}"`;
  if (verdict.status === 'passed') return `${open}/>`;
  if (verdict.status === 'skipped') {
    return `${open}><skipped message="${escapeXml(verdict.reason)}"/></testcase>`;
  }
  const { sent, cameBack, expected } = verdict.failure;
  const text = [check.title, `sent: ${sent}`, `came back: ${cameBack}`, `expected: ${expected}`];
  const all = escapeXml([...text, ...transcriptLines(transcript)].join('\n'));
  const message = escapeXml(`expected ${expected}`);
  return `${open}><failure type="${check.level}" message="${message}">${all}</failure></testcase>`;
}
