import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { TOOLS, UNSCOPED, VERSIONS } from '../../src/conformance/executor/registry/packages.js';
import { Registry } from '../../src/conformance/executor/registry/registry.js';
import { freePort } from '../flawed/free-port.js';

async function open() {
  const port = await freePort();
  const registry = await Registry.use(port);
  onTestFinished(() => registry.release());
  return (path: string) => fetch(`http://127.0.0.1:${port}/${path}`);
}

describe('the registry of the suite', () => {
  it('has packages, versions by number and by tag, tags and bytes', async () => {
    const get = await open();
    const json = async (path: string) => (await get(path)).json();
    const manifest = z.object({ version: z.string(), dist: z.object({ tarball: z.string() }) });
    expect(await json(VERSIONS.replace('/', '%2f'))).toMatchObject({ versions: { '1.2.0': { version: '1.2.0' } } });
    expect(await json(`${UNSCOPED}?write=true`)).toMatchObject({ name: UNSCOPED });
    expect(await json(`${VERSIONS}/latest`)).toMatchObject({ version: '1.2.0' });
    expect(await json(`${VERSIONS}/beta`)).toMatchObject({ version: '2.0.0-beta.1' });
    expect(await json(`${VERSIONS}/1.0.0`)).toMatchObject({ version: '1.0.0', type: 'module' });
    expect(await json(`-/package/${VERSIONS}/dist-tags`)).toEqual({ latest: '1.2.0', beta: '2.0.0-beta.1' });
    const { dist, version } = manifest.parse(await json(`${TOOLS}/latest`));
    expect(dist.tarball.endsWith(`${TOOLS}/-/${version}.tgz`)).toBe(true);
    expect((await fetch(dist.tarball)).status).toBe(200);
  });

  it('answers 404 for everything else, and goes on after a path that cannot be decoded', async () => {
    const get = await open();
    const others = [
      '',
      '%zz',
      'nobody',
      `${VERSIONS}/9.9.9`,
      `${VERSIONS}/toString`,
      `${VERSIONS}/-/9.9.9.tgz`,
      '-/all',
    ];
    for (const path of others) expect([path, (await get(path)).status]).toEqual([path, 404]);
    expect((await get(UNSCOPED)).status).toBe(200);
  });
});
