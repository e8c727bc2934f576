import { TPMJS_EXECUTOR } from '../specifications/tpmjs-executor.js';
import { defineSuite, type Suite } from '../suite.js';
import { CORS_CHECKS } from './cors-checks.js';
import { EXECUTE_CHECKS } from './execute-checks.js';
import { EXTENDED_CHECKS } from './extended-checks.js';
import { HEALTH_CHECKS } from './health-checks.js';
import { LIFECYCLE_CHECKS } from './lifecycle-checks.js';
import { REQUEST_CHECKS } from './request-checks.js';
import { RESOLUTION_CHECKS } from './resolution-checks.js';
import { openExecutor } from './session.js';
import { STANDARD_CHECKS } from './standard-checks.js';

/** Judges a TPMJS executor over HTTP. */
export const EXECUTOR_SUITE: Suite = defineSuite({
  name: 'executor',
  title: 'TPMJS executor',
  groups: ['Core', 'Standard', 'Extended'],
  specifications: [TPMJS_EXECUTOR],
  checks: [
    ...HEALTH_CHECKS,
    ...EXECUTE_CHECKS,
    ...RESOLUTION_CHECKS,
    ...REQUEST_CHECKS,
    ...CORS_CHECKS,
    ...STANDARD_CHECKS,
    ...LIFECYCLE_CHECKS,
    ...EXTENDED_CHECKS,
  ],
  open: openExecutor,
});
