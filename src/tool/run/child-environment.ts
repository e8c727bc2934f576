import { DEFAULT_SEARCH_PATH } from '../../sandbox/index.js';
import type { Lodging } from './lodging.js';

/** The variables that everything starts with that is not ours: nothing of the server's. */
export function childEnvironment(lodging: Lodging): Record<string, string> {
  return { PATH: DEFAULT_SEARCH_PATH, HOME: lodging.home, TMPDIR: lodging.temporary, LANG: 'C.UTF-8' };
}
