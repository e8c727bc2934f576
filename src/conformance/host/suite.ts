import { EXECBOX_PROTOCOL } from '../specifications/execbox-protocol.js';
import { EXECBOX_RUNNER } from '../specifications/execbox-runner.js';
import { defineSuite, type Suite } from '../suite.js';
import { ENDING_CHECKS } from './ending-checks.js';
import { EXECUTE_CHECKS } from './execute-checks.js';
import { RESULT_CHECKS } from './result-checks.js';
import { openHost } from './session.js';
import { TOOL_CHECKS } from './tool-checks.js';
import { TRUST_CHECKS } from './trust-checks.js';

/** Judges an execbox host through an adapter; the suite plays the runner. */
export const HOST_SUITE: Suite = defineSuite({
  name: 'host',
  title: 'execbox host',
  groups: ['Execute', 'Tool calls', 'Results', 'Trust', 'Cancellation', 'Transport'],
  specifications: [EXECBOX_PROTOCOL, EXECBOX_RUNNER],
  checks: [...EXECUTE_CHECKS, ...TOOL_CHECKS, ...RESULT_CHECKS, ...TRUST_CHECKS, ...ENDING_CHECKS],
  open: openHost,
});
