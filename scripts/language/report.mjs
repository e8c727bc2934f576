// Why a guest differs, and the document that says so.

/** The first that fits is the reason. */
const REASONS = [
  [
    /./,
    ({ features }) => features.some((name) => /^(SharedArrayBuffer|Atomics)$/.test(name)),
    'There is no `SharedArrayBuffer` and no `Atomics`: shared memory is a clock and a channel.',
  ],
  [
    /./,
    ({ path }) => /\/(SharedArrayBuffer|Atomics)\//.test(path),
    'There is no `SharedArrayBuffer` and no `Atomics`: shared memory is a clock and a channel.',
  ],
  [/./, ({ features }) => features.includes('tail-call-optimization'), 'There are no tail calls, as in Node.js.'],
  [/Intl|toLocale/, () => true, 'There is no `Intl`.'],
  [/^(timeout|memory_limit)/, () => true, 'It needs more time or memory than a guest of this run has.'],
  [/^internal_error/, () => true, 'The guest was ended.'],
  [/./, ({ path }) => /built-ins\/Date\//.test(path), 'Dates: a guest is in UTC, and reads fewer forms of text.'],
  [/./, ({ path }) => /built-ins\/RegExp\//.test(path), 'Regular expressions: details of the engine.'],
  [
    /./,
    ({ path }) => /function-name|fn-name|\/name\.js|toString/.test(path),
    'Names and source texts of functions: details of the engine.',
  ],
  [
    /./,
    ({ negative }) => negative !== undefined,
    'An early error that the engine does not report, or reports at another time.',
  ],
  [
    /./,
    ({ path }) => /eval-code|global-code/.test(path),
    'Scripts and eval at the top level: programs of guests are bodies of functions.',
  ],
  [/./, ({ path }) => /annexB/.test(path), 'What only web browsers need.'],
];
const OTHER = 'Details of the engine.';
const MAX_LISTED = 12;

/** Says why a test differs. */
export function reasonOf(test, outcome) {
  for (const [pattern, fits, reason] of REASONS) if (pattern.test(outcome) && fits(test)) return reason;
  return OTHER;
}

/** Writes the document. */
export function documentOf({ name, every, counts, skipped, differences, node }) {
  const skips = [...skipped].sort((a, b) => b[1] - a[1]);
  const byReason = new Map();
  for (const difference of differences) {
    byReason.set(difference.reason, [...(byReason.get(difference.reason) ?? []), difference]);
  }
  const applicable = counts.asked - skips.reduce((sum, [, count]) => sum + count, 0);
  const share = ((100 * counts.passed) / applicable).toFixed(1);
  const groups = [...byReason].sort((a, b) => b[1].length - a[1].length);
  return `# The language of guests

Guests speak the JavaScript of QuickJS-NG. This page is made by \`npm run language -- --write\`, which runs the parts \`language\` and \`built-ins\`
of the official conformance tests (test262, as \`${name}\` has them) through the guest boundary, and whatever fails once more in Node.js ${node}. A test that
fails in both is older than the language, or about something that neither has. How a program becomes a value is in
[how code becomes a value](guest-source.md), what it finds in [running guest programs](guest.md#what-a-program-finds).

| | tests |
|---|---|
| asked${every === 1 ? '' : `: every ${every}th of the suite`} | ${counts.asked} |
| pass | ${counts.passed} (${share} % of those that apply) |
| **differ**: Node.js passes, a guest does not | ${differences.length} |
| fail in both | ${counts.failedInBoth} |
${skips.map(([reason, count]) => `| do not apply: ${reason} | ${count} |`).join('\n')}

Each test runs as a script, in strict mode where it asks for that, with 64 MiB and a minute. \`npm test\` runs a sample, and fails when a test
differs that is not recorded in \`scripts/language/differences.json\`.

## Programs instead of scripts

The tests above run as scripts, with \`eval\` inside the guest. A program of a guest is parsed and checked by us first, and is the body of an async
function. \`npm run language -- --as program\` shows what that changes for the tests of the syntax: \`return\` is allowed and \`await\` is a keyword at the
top level; \`var\` and functions of the top level are not properties of the global object; \`yield\` is no name inside generators, not even where
sloppy mode would allow it.

## Differences

${groups.map(([reason, list]) => section(reason, list)).join('\n')}`;
}

function section(reason, list) {
  const lines = list.slice(0, MAX_LISTED).map(({ path, outcome }) => `- \`${path}\`: ${shown(outcome)}`);
  const more = list.length > MAX_LISTED ? [`- and ${list.length - MAX_LISTED} more`] : [];
  return `### ${reason} (${list.length})\n\n${[...lines, ...more].join('\n')}\n`;
}

function shown(outcome) {
  return outcome
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[`|<>]/g, "'")
    .slice(0, 120);
}
