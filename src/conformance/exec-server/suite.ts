import { EXEC_SERVER } from '../specifications/exec-server.js';
import { defineSuite, type Suite } from '../suite.js';
import { ERROR_CHECKS } from './error-checks.js';
import { FILE_CHECKS } from './file-checks.js';
import { HANDSHAKE_CHECKS } from './handshake-checks.js';
import { HTTP_CHECKS } from './http-checks.js';
import { LATER_CHECKS } from './later-checks.js';
import { OUTPUT_CHECKS } from './output-checks.js';
import { READ_CHECKS } from './read-checks.js';
import { RESUME_CHECKS } from './resume-checks.js';
import { ExecSession } from './session.js';
import { START_CHECKS } from './start-checks.js';
import { TERMINATE_CHECKS } from './terminate-checks.js';
import { WIRE_CHECKS } from './wire-checks.js';
import { WRITE_CHECKS } from './write-checks.js';

/** Judges an exec-server, over NDJSON or WebSocket, in either dialect. */
export const EXEC_SERVER_SUITE: Suite = defineSuite({
  name: 'exec-server',
  title: 'exec-server',
  groups: [
    'Wire',
    'Handshake',
    'Start',
    'Output',
    'Write',
    'Read',
    'Terminate',
    'End',
    'Errors',
    'Later dialect',
    'Files',
    'HTTP',
  ],
  specifications: [EXEC_SERVER],
  checks: [
    ...WIRE_CHECKS,
    ...HANDSHAKE_CHECKS,
    ...START_CHECKS,
    ...OUTPUT_CHECKS,
    ...WRITE_CHECKS,
    ...READ_CHECKS,
    ...TERMINATE_CHECKS,
    ...ERROR_CHECKS,
    ...LATER_CHECKS,
    ...RESUME_CHECKS,
    ...FILE_CHECKS,
    ...HTTP_CHECKS,
  ],
  open: (context) => new ExecSession(context),
});
