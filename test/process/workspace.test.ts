import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileAccess, folderAccess, placeOf, type Surroundings, workspaceProblem } from '../../src/process/workspace.js';
import { beneath } from '../../src/sandbox/index.js';

const AROUND: Surroundings = {
  workspaces: [],
  homes: ['/root', '/home/me'],
  ownFolder: '/opt/tools/sallyport',
  ownPaths: ['/opt/tools/sallyport/dist', '/opt/tools/sallyport/node_modules'],
  protect: ['/home/me/.cache/sallyport/tools', '/srv/cache'],
  readable: ['/usr', '/etc/ssl/certs', '/opt/node/bin/node'],
  privateFolders: ['/', '/tmp', '/home', '/var/tmp', '/run', '/var', '/etc', '/dev', '/proc'],
};

describe('without a named workspace', () => {
  it.each(['/home/me/project', '/tmp/x', '/var/tmp/x', '/work', '/srv/site', '/home/me/project/.git', '/library'])(
    '%s is writable where a command works in it',
    (folder) => {
      expect(placeOf(folder, AROUND)).toEqual({ kind: 'workspace', folder, readOnly: [] });
    },
  );

  it.each(['/', '/usr', '/usr/share', '/tmp', '/home', '/var/tmp', '/etc', '/etc/ssl/certs', '/dev', '/proc', '/run'])(
    'a command may start in %s, which is there anyway, and gets nothing for it',
    (folder) => {
      expect(placeOf(folder, AROUND)).toEqual({ kind: 'shown' });
    },
  );

  it.each([
    ['/home/me', /home/],
    ['/home/you', /home/],
    ['/root', /home/],
    ['/home/me/.ssh', /dot-folder/],
    ['/home/me/.config/gh', /dot-folder/],
    ['/home/you/.aws', /dot-folder/],
    ['/root/.ssh/keys', /dot-folder/],
    ['/opt', /Sallyport/],
    ['/opt/tools', /Sallyport/],
    ['/opt/node', /programs of the system/],
    ['/opt/node/bin', /programs of the system/],
    ['/srv', /must not change/],
    ['/srv/cache', /must not change/],
    ['/srv/cache/left-pad', /must not change/],
    ['/etc/ssh', /system/],
    ['/boot', /system/],
    ['/sys/kernel', /system/],
    ['/dev/shm', /system/],
    ['/proc/1', /system/],
    ['/var/lib', /system/],
    ['/run/user/0', /system/],
    ['/lib64/x', /system/],
  ])('%s is refused', (folder, reason) => {
    expect(placeOf(folder, AROUND)).toEqual({ kind: 'refused', reason: expect.stringMatching(reason) });
  });

  it('lets commands look at Sallyport, and change nothing of it', () => {
    for (const folder of ['/opt/tools/sallyport', '/opt/tools/sallyport/test', '/opt/tools/sallyport/dist/cli']) {
      expect(placeOf(folder, AROUND)).toEqual({ kind: 'readable', folder });
      expect(folderAccess(folder, AROUND)).toBe('read');
      expect(fileAccess(`${folder}/x`, AROUND)).toBe('read');
    }
  });

  it('lets commands work in a project that Sallyport is installed in, but for what is installed', () => {
    const installed = { ...AROUND, ownFolder: '/work/a/node_modules/sallyport', ownPaths: ['/work/a/node_modules'] };
    expect(placeOf('/work/a', installed)).toEqual({
      kind: 'workspace',
      folder: '/work/a',
      readOnly: ['/work/a/node_modules'],
    });
    expect(placeOf('/work', installed)).toMatchObject({ kind: 'refused' });
    expect(fileAccess('/work/a/node_modules/x/index.js', installed)).toBe('read');
    expect(fileAccess('/work/a/index.js', installed)).toBe('write');
  });

  it('never grants what is around, or in, anything that must be kept', () => {
    const part = fc.constantFrom('home', 'me', 'root', '.ssh', 'opt', 'tools', 'sallyport', 'srv', 'cache', 'usr', 'x');
    const folder = fc.array(part, { maxLength: 6 }).map((parts) => `/${parts.join('/')}`);
    const kept = [...AROUND.protect, ...AROUND.ownPaths, AROUND.ownFolder, ...AROUND.readable];
    fc.assert(
      fc.property(folder, (path) => {
        if (folderAccess(path, AROUND) !== 'write') return;
        for (const other of kept) expect(beneath(path, other) || beneath(other, path)).toBe(false);
        for (const home of AROUND.homes) expect(beneath(home, path)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('with named workspaces', () => {
  const named = { ...AROUND, workspaces: ['/work/a', '/work/a/inner', '/usr/src/app', '/opt/tools/sallyport'] };

  it('the innermost one around a folder is writable, whatever else it is', () => {
    expect(placeOf('/work/a/x/y', named)).toMatchObject({ kind: 'workspace', folder: '/work/a' });
    expect(placeOf('/work/a/inner/y', named)).toMatchObject({ kind: 'workspace', folder: '/work/a/inner' });
    expect(placeOf('/usr/src/app', named)).toMatchObject({ kind: 'workspace', folder: '/usr/src/app' });
    expect(fileAccess('/usr/src/app/file', named)).toBe('write');
  });

  it('a folder outside of all is refused unless it is there anyway', () => {
    expect(placeOf('/work/ab', named)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('workspaces'),
    });
    expect(placeOf('/home/me/project', named)).toMatchObject({ kind: 'refused' });
    expect(placeOf('/usr/share', named)).toEqual({ kind: 'shown' });
    expect(placeOf('/tmp', named)).toEqual({ kind: 'shown' });
  });

  it('what of Sallyport is in one can only be read', () => {
    expect(placeOf('/opt/tools/sallyport', named)).toMatchObject({ kind: 'workspace', readOnly: AROUND.ownPaths });
    expect(folderAccess('/opt/tools/sallyport/dist/cli', named)).toBe('read');
    expect(fileAccess('/opt/tools/sallyport/dist/x.js', named)).toBe('read');
    expect(fileAccess('/opt/tools/sallyport/README.md', named)).toBe('write');
  });

  it.each([
    ['/', /root/],
    ['/srv', /srv\/cache/],
    ['/srv/cache/x', /srv\/cache/],
    ['/home/me', /tools/],
    ['/opt', /node|Sallyport/],
    ['/opt/node', /node/],
    ['/opt/tools', /Sallyport/],
    ['/opt/tools/sallyport/node_modules/x', /Sallyport/],
  ])('%s cannot be one', (folder, problem) => {
    expect(workspaceProblem(folder, AROUND)).toMatch(problem);
  });

  it.each(['/work', '/opt/tools/sallyport', '/usr/src/app', '/home/me/project'])('%s can be one', (folder) => {
    expect(workspaceProblem(folder, AROUND)).toBeUndefined();
  });
});

describe('files', () => {
  it.each([
    ['/home/me/project/file', 'write'],
    ['/home/me/.bashrc', 'none'],
    ['/home/me/notes', 'none'],
    ['/home/me/.ssh/id', 'none'],
    ['/etc/shadow', 'none'],
    ['/etc/ssl/certs/ca.pem', 'read'],
    ['/usr/bin/env', 'read'],
    ['/opt/node/bin/node', 'read'],
    ['/opt/node/bin/npm', 'none'],
    ['/tmp/file', 'none'],
    ['/srv/cache/x/index.js', 'none'],
    ['/proc/1/environ', 'none'],
    ['/dev/sda', 'none'],
  ] as const)('%s: %s', (path, access) => {
    expect(fileAccess(path, AROUND)).toBe(access);
  });
});
