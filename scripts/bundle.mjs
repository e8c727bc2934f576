// Bundles what runs inside a guest's thread or process into one file each: a shell that loads thirty modules one by one takes
// five times as long to start.
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const dist = new URL('../dist/guest/', import.meta.url);

for (const name of ['thread', 'child']) {
  const bundle = await rolldown({
    input: fileURLToPath(new URL(`runner/${name}.js`, dist)),
    platform: 'node',
    // Loaded by the first program that has types, and found from anywhere inside the package.
    external: ['@sveltejs/acorn-typescript'],
    treeshake: { moduleSideEffects: false },
  });
  // Beside the heap image, which it looks for next to itself.
  await bundle.write({ file: fileURLToPath(new URL(`engine/${name}.bundle.js`, dist)), format: 'esm' });
  await bundle.close();
}
