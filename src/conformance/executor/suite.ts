import type { Check } from '../check.js';
import { TPMJS_EXECUTOR } from '../specifications/tpmjs-executor.js';
import { defineSuite, type Suite } from '../suite.js';
import { CORS_CHECKS } from './cors-checks.js';
import { EXECUTE_CHECKS } from './execute-checks.js';
import { EXTENDED_CHECKS } from './extended-checks.js';
import { HEALTH_CHECKS } from './health-checks.js';
import { ISOLATION_CHECKS, TIMEOUT_CHECKS } from './lifecycle-checks.js';
import { REQUEST_CHECKS } from './request-checks.js';
import { RESOLUTION_CHECKS } from './resolution-checks.js';
import { closeRegistry, type ExecutorSession, openExecutor } from './session.js';
import { STANDARD_CHECKS } from './standard-checks.js';

/** The time that the text gives a whole request at least: a package may have to be fetched from the other end of the world. */
const INSTALL_LIMIT_MS = 90_000;

function installing(check: Check<ExecutorSession>): Check<ExecutorSession> {
  return { ...check, limitMs: INSTALL_LIMIT_MS };
}

/** Judges a TPMJS executor over HTTP. */
export const EXECUTOR_SUITE: Suite = defineSuite({
  name: 'executor',
  title: 'TPMJS executor',
  groups: ['Core', 'Standard', 'Extended'],
  specifications: [TPMJS_EXECUTOR],
  checks: [
    ...HEALTH_CHECKS,
    ...EXECUTE_CHECKS.map(installing),
    ...RESOLUTION_CHECKS.map(installing),
    ...REQUEST_CHECKS,
    ...CORS_CHECKS,
    ...STANDARD_CHECKS,
    ...TIMEOUT_CHECKS,
    ...ISOLATION_CHECKS.map(installing),
    ...EXTENDED_CHECKS.map(installing),
  ],
  open: openExecutor,
  close: closeRegistry,
});
