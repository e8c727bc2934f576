import { describeFlaws } from '../harness.js';
import { startFlawed } from '../start.js';
import { RUNNER_FLAWS } from './flaws.js';

describeFlaws({
  suite: 'runner',
  start: (flaw) => startFlawed(new URL('./program.mjs', import.meta.url), flaw),
  flaws: RUNNER_FLAWS,
  jobs: 8,
  together: true,
  limitMs: 6_000,
});
