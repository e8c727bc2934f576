import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take minutes, the longest first. Begun last, each would keep one core busy while the other has nothing to do. */
const LONG = [
  'redteam/siege-container',
  'redteam/siege-process',
  'flawed/executor',
  'flawed/wasm-host',
  'flawed/exec-server',
  'conformance/',
  'flawed/',
  'e2e/',
  'redteam/',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const found = LONG.findIndex((part) => moduleId.includes(`/test/${part}`));
  return found === -1 ? LONG.length : found;
};

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // What is polled for is an event without a listener; how soon it comes is the machine's business.
    expect: { poll: { timeout: 60_000 } },
    // For two cores: many tests wait for processes of their own, or for time to pass.
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
  },
});
