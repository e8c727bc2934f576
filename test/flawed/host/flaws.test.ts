import { describeFlaws } from '../harness.js';
import { startFlawed } from '../start.js';
import { HOST_FLAWS } from './flaws.js';

describeFlaws({
  suite: 'host',
  start: (flaw) => startFlawed(new URL('./program.mjs', import.meta.url), flaw),
  flaws: HOST_FLAWS,
  jobs: 8,
  together: true,
  limitMs: 6_000,
});
