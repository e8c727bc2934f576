import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const require = createRequire(import.meta.url);
const manifest: { exports: Record<string, unknown>; version: string } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);
const subpaths = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => path.replace(/^\./, 'sallyport'));

/** npm must not act as the script of the project that runs this test. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_(?!config_)|^INIT_CWD$/i.test(name)),
);

describe('the packed tarball, installed in an empty folder', () => {
  let folder = '';

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sallyport-pack-'));
    const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
      cwd: root,
      env,
    });
    const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
    writeFileSync(join(folder, 'package.json'), '{ "name": "user", "private": true, "type": "module" }');
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
    await run('npm', ['install', ...flags, join(folder, filename)], { cwd: folder, env });
  }, 120_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('imports every export', async () => {
    const lines = subpaths.map(
      (path) => `if (Object.keys(await import('${path}')).length === 0) throw new Error('${path}');`,
    );
    writeFileSync(join(folder, 'all.mjs'), lines.join('\n'));
    await run(process.execPath, ['all.mjs'], { cwd: folder });
  });

  it('type-checks every export under strict settings', async () => {
    const imports = subpaths.map((path, index) => `import * as m${index} from '${path}';\nexport { m${index} };`);
    writeFileSync(join(folder, 'all.mts'), imports.join('\n'));
    const options = {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable'],
      types: ['node'],
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['all.mts'] }));
    const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
    const checked = await run(process.execPath, [tsc, '-p', folder], { cwd: folder }).catch((error) => error);
    expect(checked.stdout).toBe('');
  });

  it('brings a command that runs', async () => {
    const { stdout } = await run(join(folder, 'node_modules', '.bin', 'sallyport'), ['--version']);
    expect(stdout.trim()).toBe(manifest.version);
  });

  it('leaves out sources, tests and everything else a user does not need', async () => {
    const { stdout } = await run('npm', ['pack', '--json', '--dry-run', '--ignore-scripts'], { cwd: root, env });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const folders = new Set(files.map(({ path }) => path.split('/')[0]));
    expect([...folders].sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'docs', 'package.json']);
  });
});

describe('what the package brings along', () => {
  interface Locked {
    readonly dev?: true;
    readonly hasInstallScript?: true;
    readonly license?: string;
  }
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev === undefined);

  it('runs no code when it is installed', () => {
    expect(shipped.length).toBeGreaterThan(100);
    expect(shipped.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
  });

  it('is each named in the documents with its version and a reason, and has a licence that lets it be passed on', () => {
    const document = readFileSync(join(root, 'docs', 'dependencies.md'), 'utf8');
    const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    );
    const unnamed = Object.entries(dependencies).filter(
      ([name, version]) => !document.includes(`\`${name}\` ${version}`),
    );
    expect(unnamed).toEqual([]);
    const odd = shipped.filter(
      ([, { license }]) => !/^\(?(MIT|ISC|BSD|Apache|BlueOak|CC|0BSD|Python)/.test(license ?? ''),
    );
    expect(odd.map(([path, { license }]) => `${path}: ${license}`)).toEqual([]);
  });
});
