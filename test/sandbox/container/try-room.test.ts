import { expect, test } from 'vitest';
import { explainRefusal } from '../../../src/sandbox/container/try-room.js';

test.each([
  ['bwrap: setting up uid map: Permission denied', 'apparmor_restrict_unprivileged_userns'],
  ['bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted', 'AppArmor'],
  ['bwrap: No permissions to create new namespace, likely because …', 'user.max_user_namespaces'],
  ['bwrap: Creating new namespace failed: Operation not permitted', '--security-opt seccomp=unconfined'],
  ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", 'systempaths=unconfined'],
  ['bwrap: Unknown option --size', '0.8.0 or later'],
])('explains %j', (message, advice) => {
  expect(explainRefusal(message)).toContain(message);
  expect(explainRefusal(message)).toContain(advice);
});
