import { isSallyportError } from '../errors/index.js';
import { CliError } from './exit.js';

/** Refuses a level that this machine cannot enforce, before anything is started at it. */
export async function checkIsolation(level: string): Promise<void> {
  if (level !== 'container') return;
  const { GUEST_POLICY, resolveIsolation } = await import('../sandbox/index.js');
  try {
    await resolveIsolation(level, { policy: GUEST_POLICY });
  } catch (error) {
    if (isSallyportError(error, 'SPAWN_LEVEL_UNAVAILABLE')) throw new CliError(`--isolation: ${error.message}`);
    throw error;
  }
}
