import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // What is polled for is an event without a listener; how soon it comes is the machine's business.
    expect: { poll: { timeout: 10_000 } },
    // Two cores, and many tests start processes of their own: more files at once only makes them wait for each other.
    maxWorkers: 2,
  },
});
