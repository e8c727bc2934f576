import { EXECBOX_RUNNER } from '../specifications/execbox-runner.js';
import { defineSuite, type Suite } from '../suite.js';
import { openRunner } from './session.js';
import { SESSION_CHECKS } from './session-checks.js';

/** Judges an execbox runner, over NDJSON or WebSocket. */
export const RUNNER_SUITE: Suite = defineSuite({
  name: 'runner',
  title: 'execbox runner',
  groups: ['Session'],
  specifications: [EXECBOX_RUNNER],
  checks: [...SESSION_CHECKS],
  open: openRunner,
});
