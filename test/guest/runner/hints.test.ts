import { describe, expect, it } from 'vitest';
import { type HintContext, hintFor } from '../../../src/guest/runner/hints.js';
import { cpuMs } from '../../cpu-time.js';

const named = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { safeName: name, originalName: name }]));
const context = (code: string, more: Partial<HintContext> = {}): HintContext => ({
  providers: [
    {
      name: 'github',
      tools: { ...named('listIssues', 'getIssue'), scrape_url: { safeName: 'scrape_url', originalName: 'scrape-url' } },
      types: '',
    },
    { name: 'mail', tools: named('send'), types: '' },
  ],
  globals: () => ['JSON', 'Object', 'console', 'setTimeout'],
  code,
  line: 1,
  ...more,
});
const unknown = (name: string, more?: Partial<HintContext>) =>
  hintFor('ReferenceError', `'${name}' is not defined`, context(name, more));
const noFunction = (code: string, more?: Partial<HintContext>) =>
  hintFor('TypeError', 'not a function', context(code, more));

describe('a hint for an unknown global', () => {
  it('names the closest and lists the tools', () => {
    expect(unknown('gihub')).toBe(
      'Did you mean github? Tools: github.listIssues, github.getIssue, github.scrape_url, mail.send.',
    );
    expect(unknown('JSOn')).toContain('Did you mean JSON?');
    expect(unknown('setTimout')).toContain('Did you mean setTimeout?');
  });
  it('finds a tool that was called without its namespace', () =>
    expect(unknown('listIssues')).toContain('Did you mean github.listIssues?'));
  it('says what to do instead of what is not there', () => {
    expect(unknown('fetch')).toMatch(/no network/);
    expect(unknown('require')).toMatch(/No module/);
    expect(unknown('process')).toMatch(/no process/);
    expect(unknown('Buffer')).toMatch(/Uint8Array/);
    expect(unknown('window')).toMatch(/globalThis/);
  });
  it('says that there are no tools', () => expect(unknown('zzzzzzz', { providers: [] })).toBe('There are no tools.'));
  it('lists at most twenty', () => {
    const providers = [{ name: 'many', tools: named(...Array.from({ length: 30 }, (_, i) => `tool${i}`)), types: '' }];
    expect(unknown('nothing', { providers })).toMatch(/many\.tool19, and 10 more\.$/);
  });
  it('is not misled by an inherited name', () => {
    expect(unknown('constructor')).not.toContain('github.constructor');
    expect(unknown('__proto__')).not.toContain('github.__proto__');
  });
});

describe('a hint for an unknown tool', () => {
  it('names the closest of the namespace', () => {
    expect(noFunction('await github.listIssue({})')).toBe(
      'github has no tool listIssue. Did you mean github.listIssues? Tools: github.listIssues, github.getIssue, github.scrape_url.',
    );
  });
  it('looks at the line of the error', () => {
    const code = 'await github.getIssue({})\nawait mail.sent({})';
    expect(noFunction(code, { line: 2 })).toContain('mail has no tool sent. Did you mean mail.send?');
    expect(noFunction(code, { line: 1 })).toBe('');
  });
  it('is found through optional calls, and not in other objects', () => {
    expect(noFunction('github?.nope?.()')).toContain('github has no tool nope');
    expect(noFunction('my.github.nope()')).toBe('');
  });
  it('treats inherited names as unknown tools', () =>
    expect(noFunction('github.hasOwnProperty("x")')).toContain('github has no tool hasOwnProperty'));
  it('is empty where there is nothing to say', () => {
    expect(noFunction('nothing()')).toBe('');
    expect(hintFor('RangeError', 'x', context('1'))).toBe('');
    expect(hintFor('ReferenceError', 'cannot access x before initialization', context('x'))).toBe('');
  });
  it('stays quick on a long line', () => {
    const from = cpuMs();
    noFunction(`${'github . '.repeat(50_000)}x`);
    expect(cpuMs() - from).toBeLessThan(15_000);
  });
});
