import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runSuite } from '../../../src/conformance/index.js';
import { describeFlaws } from '../harness.js';

const PROGRAM = fileURLToPath(new URL('./program.mjs', import.meta.url));
const PIECES = 'what comes from the guest arrives in pieces, when it does';
const ONE_ID = 'two of its calls are one to the host';
const ONE_STREAM = 'two of its streams are one to the host';

const because = (reason: string, ...ids: readonly string[]): Record<string, string> =>
  Object.fromEntries(ids.map((id) => [`wasm-host.${id}`, reason]));
const checks = (...ids: readonly string[]): string[] => ids.map((id) => `wasm-host.${id}`);

describeFlaws({
  suite: 'wasm-host',
  start: (flaw) => ({
    // An empty environment: node starts several times as fast without certificates to read.
    target: { kind: 'command', argv: [process.execPath, PROGRAM, '--flaw', flaw ?? 'none'], env: {} },
  }),
  limitMs: 6_000,
  jobs: 3,
  together: true,
  flaws: [
    { name: 'any-version', caughtBy: checks('frames.version-rejected', 'failures.version-0', 'failures.version-2') },
    {
      name: 'one-read-one-frame',
      caughtBy: checks('frames.split-header'),
      also: because(
        PIECES,
        'frames.byte-by-byte',
        'frames.together',
        'frames.large',
        'calls.any-text',
        'streams.receive-many',
        'failures.deep',
        'failures.exit-in-frame',
      ),
    },
    {
      name: 'skips-garbage',
      caughtBy: checks('failures.undecodable', 'failures.truncated', 'failures.empty', 'failures.two-messages'),
      also: because(
        'it is no MessagePack for the host',
        'failures.duplicate-key',
        'failures.deep',
        'failures.huge-count',
      ),
    },
    {
      name: 'same-call-id',
      caughtBy: checks('calls.unique-ids', 'calls.interleave', 'calls.many'),
      also: because(
        ONE_ID,
        'frames.split-header',
        'frames.together',
        'streams.receive-calls',
        'streams.unique-ids',
        'failures.all-calls',
        'failures.open-stream',
      ),
    },
    { name: 'notify-expects', caughtBy: checks('calls.forgotten') },
    { name: 'error-ends-guest', caughtBy: checks('calls.error-keeps-guest') },
    {
      name: 'grants-all',
      caughtBy: checks('callbacks.refused-unknown', 'callbacks.refused-empty', 'failures.not-granted'),
      also: because(
        'it is carried out',
        'callbacks.refused-proto',
        'callbacks.refused-constructor',
        'callbacks.refused-to-string',
        'failures.fresh-after-not-granted',
      ),
    },
    {
      name: 'inherited-functions',
      caughtBy: checks('callbacks.refused-proto', 'callbacks.refused-constructor', 'callbacks.refused-to-string'),
    },
    { name: 'answers-forgotten', caughtBy: checks('callbacks.forgotten-result', 'callbacks.forgotten-error') },
    { name: 'errors-as-results', caughtBy: checks('callbacks.error') },
    { name: 'end-after-error', caughtBy: checks('streams.send-error') },
    {
      name: 'same-stream-id',
      caughtBy: checks('streams.unique-ids', 'streams.receive-calls'),
      also: because(ONE_STREAM, 'streams.receive-two'),
    },
    { name: 'stream-error-lost', caughtBy: checks('streams.receive-error') },
    { name: 'streams-stay-open', caughtBy: checks('failures.open-stream') },
    {
      name: 'ignores-strangers',
      caughtBy: checks(
        'failures.answer-unknown',
        'failures.error-unknown',
        'failures.chunk-unknown',
        'failures.end-unknown',
        'failures.second-answer',
        'failures.chunk-after-end',
        'failures.answer-to-forgotten',
      ),
    },
    {
      name: 'skips-unknown-types',
      caughtBy: checks('failures.type-missing', 'failures.type-unknown', 'failures.type-text'),
    },
    { name: 'no-timeout', caughtBy: checks('failures.timeout', 'failures.fresh-after-timeout') },
    {
      name: 'never-fresh',
      caughtBy: checks(
        'failures.fresh-after-violation',
        'failures.fresh-after-exit',
        'failures.fresh-after-not-granted',
        'failures.fresh-after-timeout',
      ),
      also: because('it needs a second guest', 'failures.not-repeated'),
    },
  ],
});

it('skips what needs two calls at once on a host that makes one at a time', { timeout: 120_000 }, async () => {
  const argv = [process.execPath, PROGRAM, '--flaw', 'one-call-at-a-time'];
  const only = checks('frames', 'calls', 'streams', 'failures.all-calls');
  const { outcomes } = await runSuite('wasm-host', { kind: 'command', argv, env: {} }, { only, jobs: 3 });
  const of = (status: string) =>
    outcomes.filter(({ verdict }) => verdict.status === status).map(({ check }) => check.id);
  expect(of('failed')).toEqual([]);
  expect(of('skipped')).toEqual(
    checks(
      'frames.split-header',
      'frames.together',
      'calls.interleave',
      'calls.many',
      'streams.receive-calls',
      'failures.all-calls',
    ),
  );
});
