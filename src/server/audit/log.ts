import type { Logger } from 'pino';
import type { AuditTrail } from './trail.js';

/** Writes the trail as structured lines: one for the beginning, one for the end, one for each capability. */
export function logTrail(trail: AuditTrail, logger: Logger): () => void {
  return trail.onEvent((event) => {
    if (event.type === 'capability') {
      const { executionId, kind, capability } = event;
      logger.info({ audit: 'capability', executionId, kind, capability }, `${capability.type} ${capability.outcome}`);
      return;
    }
    const { execution } = event;
    // The capabilities have their own lines.
    const { capabilities: _kept, ...facts } = execution;
    if (event.type === 'created') return;
    logger.info({ audit: event.type, ...facts }, `execution ${event.type}`);
  });
}
