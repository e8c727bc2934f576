// Figures that only a fresh process can give: `first` (milliseconds from the import to the first result) and `memory` (MB of
// resident memory that one more idle shell takes).
import { createExecutor } from '../dist/guest/index.js';

if (process.argv[2] === 'first') {
  const started = performance.now();
  const executor = createExecutor({ size: 1 });
  await executor.execute('return 1 + 1');
  console.log(performance.now() - started);
  await executor.dispose();
} else {
  const warm = createExecutor({ size: 1 });
  await warm.prewarm();
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const more = createExecutor({ size: 4 });
  await more.prewarm();
  globalThis.gc?.();
  console.log((process.memoryUsage.rss() - before) / 4 / 1e6);
  await Promise.all([warm.dispose(), more.dispose()]);
}
