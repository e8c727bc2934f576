import { containerLevel } from './container/container-level.js';
import type { Policy } from './container/policy.js';
import { processLevel } from './process-level.js';
import { createSpawner, type Spawner } from './spawner.js';

/** Makes a spawner that offers every level, `container` with this policy. */
export function confiningSpawner(policy: Policy): Spawner {
  const container = containerLevel({ policy });
  return createSpawner({
    levels: new Map([
      [processLevel.name, processLevel],
      [container.name, container],
    ]),
  });
}
