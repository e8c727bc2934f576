import { EXECBOX_PROTOCOL } from '../specifications/execbox-protocol.js';
import { EXECBOX_RUNNER } from '../specifications/execbox-runner.js';
import { defineSuite, type Suite } from '../suite.js';
import { CALL_CHECKS } from './call-checks.js';
import { CANCEL_CHECKS } from './cancel-checks.js';
import { ERROR_CHECKS } from './error-checks.js';
import { LOG_CHECKS } from './log-checks.js';
import { NAMESPACE_CHECKS } from './namespace-checks.js';
import { RESULT_CHECKS } from './result-checks.js';
import { openRunner } from './session.js';
import { SESSION_CHECKS } from './session-checks.js';
import { VALUE_CHECKS } from './value-checks.js';

/** Judges an execbox runner, over NDJSON or WebSocket. */
export const RUNNER_SUITE: Suite = defineSuite({
  name: 'runner',
  title: 'execbox runner',
  groups: ['Session', 'Namespaces', 'Tool calls', 'Values', 'Logs', 'Results', 'Errors', 'Cancellation'],
  specifications: [EXECBOX_PROTOCOL, EXECBOX_RUNNER],
  checks: [
    ...SESSION_CHECKS,
    ...NAMESPACE_CHECKS,
    ...CALL_CHECKS,
    ...VALUE_CHECKS,
    ...LOG_CHECKS,
    ...RESULT_CHECKS,
    ...ERROR_CHECKS,
    ...CANCEL_CHECKS,
  ],
  open: openRunner,
});
