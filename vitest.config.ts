import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // What is polled for is an event without a listener; how soon it comes is the machine's business.
    expect: { poll: { timeout: 20_000 } },
    // Two cores, and many tests wait for processes of their own: one file more than cores uses the pauses, and more only get in each other's way.
    maxWorkers: 3,
  },
});
