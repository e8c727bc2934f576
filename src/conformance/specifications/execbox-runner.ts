import type { Specification } from '../specification.js';

/** The normative sentences of the execbox runner specification. */
export const EXECBOX_RUNNER: Specification = {
  id: 'execbox-runner',
  title: 'execbox runner specification',
  sentences: [
    { id: 'execbox-runner.session.one-done', section: 'State Machine', quote: 'must end with exactly one done' },
    { id: 'execbox-runner.session.started', section: 'State Machine', quote: 'started should be emitted once' },
    {
      id: 'execbox-runner.result.id',
      section: 'Final Result Contract',
      quote: 'id must match the active execution id',
    },
  ],
};
