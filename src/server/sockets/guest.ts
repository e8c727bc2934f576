import type { WebSocket } from 'ws';
import { attachRunner, MESSAGE_BUDGET } from '../../guest/index.js';
import { webSocketTransport } from '../../wire/index.js';
import type { Caller } from '../access/caller.js';
import { watchGuest } from '../audit/guest-watcher.js';
import type { Parts } from '../parts.js';

/** Serves the guest boundary on one socket: the runner's side, one execution at a time. Returns how to end it. */
export function serveGuest(
  socket: WebSocket,
  caller: Caller,
  { shells, trail, quotas, isolation }: Parts,
): (reason: string) => void {
  let gone = false;
  const transport = webSocketTransport(socket, { budget: MESSAGE_BUDGET });
  transport.onClose(() => {
    gone = true;
  });
  attachRunner(transport, {
    shells,
    onExecution: ({ options, cancel }) => {
      const problem = quotas.charge(caller);
      if (problem !== undefined) return { accept: false, reason: problem.message };
      let cancelled = false;
      const { timeoutMs, memoryLimitBytes } = options;
      const execution = trail.open(
        {
          kind: 'guest',
          via: 'WS /guest',
          label: 'program',
          isolation: isolation.levels.guest,
          limits: { timeoutMs, memoryLimitBytes },
          cancel: () => {
            cancelled = true;
            cancel();
          },
        },
        caller,
      );
      return { accept: true, onEvent: watchGuest(execution, () => (gone || cancelled ? 'cancelled' : 'natural')) };
    },
  });
  return (reason) => transport.close(reason);
}
