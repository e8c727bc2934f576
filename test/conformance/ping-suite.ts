import type { Check } from '../../src/conformance/check.js';
import { NotApplicable } from '../../src/conformance/check.js';
import type { RunOptions } from '../../src/conformance/index.js';
import { runLoaded, type Target } from '../../src/conformance/index.js';
import type { Specification } from '../../src/conformance/specification.js';
import { defineSuite } from '../../src/conformance/suite.js';
import { JSON_CODEC, type JsonObject } from '../../src/conformance/target/codec.js';
import { connect } from '../../src/conformance/target/connect.js';
import type { Peer } from '../../src/conformance/target/peer.js';

/** A protocol of one sentence, to test the machinery with: a ping is answered with a pong. */
export const PING: Specification = {
  id: 'ping',
  title: 'ping | pong',
  sentences: [
    { id: 'ping.pong', section: 'All', quote: 'must answer <ping> with pong' },
    { id: 'ping.once', section: 'All', quote: 'should do so once' },
    { id: 'ping.taste', section: 'All', quote: 'should have taste', untested: 'there is no arguing about it' },
  ],
};

const pong = (message: JsonObject): JsonObject | undefined => (message['type'] === 'pong' ? message : undefined);

const CHECKS: readonly Check<Peer<JsonObject>>[] = [
  {
    id: 'ping.answer.pong',
    title: 'A ping is answered',
    level: 'MUST',
    group: 'Core',
    cites: ['ping.pong'],
    async run(peer) {
      peer.send({ type: 'ping' });
      await peer.next('a pong', pong);
    },
  },
  {
    id: 'ping.answer.once',
    title: 'A ping is answered once',
    level: 'SHOULD',
    group: 'More',
    cites: ['ping.once'],
    async run(peer) {
      peer.send({ type: 'ping' });
      await peer.next('a pong', pong);
      await peer.quiet('no second pong', pong);
    },
  },
  {
    id: 'ping.end.quick',
    title: 'The target ends with its input',
    level: 'RECOMMENDED',
    reason: 'nobody wants to wait',
    group: 'More',
    cites: [],
    async run(peer) {
      peer.end();
      await peer.ended('the end of the target');
    },
  },
  {
    id: 'ping.never',
    title: 'Nothing can be asked',
    level: 'MUST',
    group: 'More',
    cites: ['ping.pong'],
    async run() {
      throw new NotApplicable('it is not there');
    },
  },
];

export const PING_SUITE = defineSuite({
  name: 'ping',
  title: 'ping pong',
  groups: ['Core', 'More'],
  specifications: [PING],
  checks: CHECKS,
  open: (context) => connect(context, JSON_CODEC),
});

/** Runs the suite against a target. */
export function runPing(target: Target, options: RunOptions = {}) {
  const context = { target, settings: new Map<string, string>(), limitMs: options.limitMs ?? 5_000 };
  return runLoaded({ suite: PING_SUITE, checks: PING_SUITE.checks, context }, options);
}

/** A target that is a few lines of JavaScript; `say` and `onPing` are there for it. */
export function script(body: string): Target {
  const head = `
    const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n');
    const onPing = (answer) => require('node:readline').createInterface({ input: process.stdin }).on('line', answer);
  `;
  return { kind: 'command', argv: [process.execPath, '-e', head + body] };
}

export const GOOD = script(`onPing(() => say({ type: 'pong' }));`);
