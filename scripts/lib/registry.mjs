// A small npm registry on loopback, so that nothing depends on the network. Its mood can be changed while it runs.
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { create } from 'tar';

/** Packs files (path to text) the way npm does. */
async function pack(files) {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-pack-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      const file = join(folder, 'package', path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return await create({ gzip: true, portable: true, cwd: folder }, ['package']).concat();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Starts a registry that has these packages: `{ name, source, version? }`, each one ES module.
 *
 * `mood` is what it does with a request: `well` answers, a number of milliseconds answers late, `hang` never answers,
 * `broken` answers with a 500.
 */
export async function startRegistry(packages) {
  const published = new Map();
  for (const { name, version = '1.0.0', source } of packages) {
    const manifest = { name, version, type: 'module', exports: './index.js' };
    const tarball = await pack({ 'package.json': JSON.stringify(manifest), 'index.js': source });
    const versions = published.get(name) ?? new Map();
    published.set(name, versions.set(version, { manifest, tarball }));
  }
  const registry = { mood: 'well', url: '', requests: 0, close };
  const server = createServer((request, response) => {
    registry.requests += 1;
    const { mood } = registry;
    if (mood === 'hang') return;
    if (mood === 'broken') return response.writeHead(500).end();
    setTimeout(() => answer(request.url ?? '/', response), mood === 'well' ? 0 : mood);
  });

  function answer(url, response) {
    const [name = '', file] = decodeURIComponent(url).slice(1).split('/-/');
    const versions = published.get(name);
    if (versions === undefined) {
      return response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');
    }
    if (file !== undefined) return response.end(versions.get(file.replace(/\.tgz$/, ''))?.tarball);
    const listed = [...versions].map(([version, { manifest, tarball }]) => {
      const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
      return [version, { ...manifest, dist: { tarball: `${registry.url}${name}/-/${version}.tgz`, integrity } }];
    });
    const document = { name, 'dist-tags': { latest: listed.at(-1)[0] }, versions: Object.fromEntries(listed) };
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  }

  function close() {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  }

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  registry.url = `http://127.0.0.1:${server.address().port}/`;
  return registry;
}
