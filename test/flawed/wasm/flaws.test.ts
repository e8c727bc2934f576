import { describeFlaws } from '../harness.js';
import { startFlawed } from '../start.js';

const PROGRAM = new URL('./program.mjs', import.meta.url);
const PIECES = 'what it sends arrives in pieces, when it does';
const ROUTED = 'the answer finds another call';

describeFlaws({
  suite: 'wasm',
  start: (flaw) => startFlawed(PROGRAM, flaw),
  limitMs: 5_000,
  jobs: 6,
  together: true,
  flaws: [
    { name: 'any-version', caughtBy: ['wasm.frames.version-0', 'wasm.frames.version-2', 'wasm.frames.version-255'] },
    {
      name: 'shared-frame',
      caughtBy: ['wasm.frames.one-message', 'wasm.frames.many'],
      also: {
        'wasm.streams.both-ways': 'both functions return a number at once',
        'wasm.failures.schema': 'several of its calls return a number at once',
      },
    },
    {
      name: 'short-length',
      caughtBy: ['wasm.frames.large'],
      also: {
        'wasm.values.strings': 'its longest needs the length',
        'wasm.values.binary': 'its longest needs the length',
      },
    },
    {
      name: 'one-read-one-frame',
      caughtBy: ['wasm.frames.split-header'],
      also: {
        'wasm.frames.byte-by-byte': PIECES,
        'wasm.frames.large': PIECES,
        'wasm.frames.many': PIECES,
        'wasm.values.strings': PIECES,
        'wasm.values.binary': PIECES,
        'wasm.streams.consume-many': PIECES,
        'wasm.streams.consume-waits': PIECES,
        'wasm.streams.both-ways': PIECES,
      },
    },
    { name: 'prints', caughtBy: ['wasm.frames.nothing-else'] },
    { name: 'null-lost', caughtBy: ['wasm.values.null'] },
    { name: 'narrow-integers', caughtBy: ['wasm.values.large-integers'] },
    { name: 'single-precision', caughtBy: ['wasm.values.fractions'] },
    { name: 'latin-text', caughtBy: ['wasm.values.unicode'] },
    { name: 'short-text', caughtBy: ['wasm.values.strings'] },
    { name: 'answers-forgotten', caughtBy: ['wasm.calls.forgotten-result', 'wasm.calls.forgotten-runs'] },
    { name: 'errors-forgotten', caughtBy: ['wasm.calls.forgotten-error', 'wasm.calls.forgotten-unknown'] },
    { name: 'skips-forgotten', caughtBy: ['wasm.calls.forgotten-runs'] },
    { name: 'silent-when-said', caughtBy: ['wasm.calls.expects-response-true'] },
    {
      name: 'two-answers',
      caughtBy: ['wasm.calls.one-answer'],
      also: { 'wasm.frames.nothing-else': 'a second answer is something else' },
    },
    {
      name: 'unknown-answered',
      caughtBy: [
        'wasm.calls.unknown-function',
        'wasm.calls.inherited-names',
        'wasm.calls.exact-names',
        'wasm.calls.forgotten-unknown',
      ],
    },
    { name: 'inherited-functions', caughtBy: ['wasm.calls.inherited-names'] },
    {
      name: 'lenient-names',
      caughtBy: ['wasm.calls.exact-names'],
      also: { 'wasm.calls.inherited-names': 'it finds them as well' },
    },
    {
      name: 'number-ids',
      caughtBy: ['wasm.calls.any-id'],
      also: { 'wasm.streams.own-namespace': 'its call has a number' },
    },
    { name: 'vague-error', caughtBy: ['wasm.calls.error-text'] },
    {
      name: 'structured-error',
      caughtBy: ['wasm.calls.error', 'wasm.failures.schema'],
      also: Object.fromEntries(
        [
          'wasm.calls.error-text',
          'wasm.calls.after-error',
          'wasm.calls.any-id',
          'wasm.calls.unknown-function',
          'wasm.calls.inherited-names',
          'wasm.calls.exact-names',
          'wasm.calls.pipelined',
          'wasm.callbacks.error',
          'wasm.streams.consume-error',
        ].map((id) => [id, 'it expects a FunctionError and finds none']),
      ),
    },
    {
      name: 'same-callback-id',
      caughtBy: ['wasm.callbacks.unique-ids'],
      also: { 'wasm.callbacks.each-its-own': ROUTED, 'wasm.callbacks.reversed': ROUTED },
    },
    { name: 'last-callback-only', caughtBy: ['wasm.callbacks.each-its-own', 'wasm.callbacks.reversed'] },
    { name: 'number-callback-id', caughtBy: ['wasm.callbacks.message'], also: { 'wasm.callbacks.result': ROUTED } },
    { name: 'no-callback-params', caughtBy: ['wasm.callbacks.message'] },
    { name: 'callback-without-answer', caughtBy: ['wasm.callbacks.expects-response'] },
    { name: 'short-names', caughtBy: ['wasm.callbacks.any-name'] },
    { name: 'host-error-lost', caughtBy: ['wasm.callbacks.error'] },
    { name: 'reversed-chunks', caughtBy: ['wasm.streams.chunks', 'wasm.streams.returns'] },
    { name: 'no-chunk', caughtBy: ['wasm.failures.schema'] },
    { name: 'no-empty-stream', caughtBy: ['wasm.streams.empty'] },
    {
      name: 'chunk-after-end',
      caughtBy: ['wasm.streams.nothing-after-end'],
      also: { 'wasm.streams.error': 'an error ends a stream, too' },
    },
    { name: 'end-after-error', caughtBy: ['wasm.streams.error'] },
    { name: 'ascii-stream-ids', caughtBy: ['wasm.streams.given-id'] },
    { name: 'stream-error-lost', caughtBy: ['wasm.streams.consume-error'] },
    { name: 'one-consumer', caughtBy: ['wasm.streams.consume-two'] },
    {
      name: 'consume-returns-early',
      caughtBy: ['wasm.streams.consume-waits', 'wasm.streams.consume'],
      also: Object.fromEntries(
        [
          'wasm.streams.consume-error',
          'wasm.streams.consume-two',
          'wasm.streams.consume-many',
          'wasm.streams.both-ways',
        ].map((id) => [id, 'its stream is not received']),
      ),
    },
    { name: 'any-type', caughtBy: ['wasm.failures.unknown-type'] },
    { name: 'answers-strangers', caughtBy: ['wasm.failures.unknown-answer'] },
    { name: 'hangs-on-garbage', caughtBy: ['wasm.failures.undecodable'] },
  ],
});
