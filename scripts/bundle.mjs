// Bundles what runs inside a guest's thread or process into one file each: a shell that loads thirty modules one by one takes
// five times as long to start.
import { dirname, join, relative } from 'node:path';
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

// What a tool runs in: CommonJS, because that needs no loader but the one that is there at the start.
const child = fileURLToPath(new URL('../tool/child/', dist));
const runner = await rolldown({
  input: join(child, 'runner.js'),
  platform: 'node',
  // Loaded when they are needed, from beside it.
  external: /(relay|describe-tool|warm)\.js$/,
});
await runner.write({ file: join(child, 'runner.bundle.cjs'), format: 'cjs' });
await runner.close();

// A command loads two hundred modules of ours, and the server three hundred: one by one, they take most of its start. The whole
// command becomes a few files, each of which is loaded by the commands that need it. Errors stay outside: modules of the user
// share them with the command by identity.
const cli = fileURLToPath(new URL('../cli/', dist));
const SHARED = /errors\/index\.js$/;

/** What brings files that it looks for beside itself, or is loaded by the first who needs it. */
const OUTSIDE = /^(node:|libsql|quickjs-wasi|@lydell\/node-pty|@npmcli\/|pacote|rolldown|@sveltejs\/acorn-typescript)/;

/** Lets each module still find its neighbours: inside the bundle its URL is that of the file it came from. */
const ownUrls = {
  name: 'own-urls',
  transform(code, id) {
    if (!id.startsWith(dirname(cli)) || !code.includes('import.meta.url')) return null;
    const path = relative(cli, id);
    const from = path.startsWith('.') ? path : `./${path}`;
    return { code: code.replaceAll('import.meta.url', `new URL(${JSON.stringify(from)}, import.meta.url).href`) };
  },
};

const command = await rolldown({
  input: join(cli, 'main.js'),
  platform: 'node',
  external: (id) => (/^[./]/.test(id) ? SHARED.test(id) : OUTSIDE.test(id)),
  treeshake: { moduleSideEffects: (id) => !id.includes('node_modules') },
  plugins: [ownUrls],
});
await command.write({
  dir: cli,
  format: 'esm',
  entryFileNames: '[name].js',
  // Beside the entry, so that relative addresses are the same for all.
  chunkFileNames: '[name].bundle.js',
  // Half the bytes to read and scan at each start; names stay, for stack traces.
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
});
await command.close();
