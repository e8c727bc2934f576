import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FileSystem } from '../../src/process/fs/file-system.js';
import type { FileScope } from '../../src/process/fs/scope.js';
import { processLimits } from '../../src/process/limits.js';
import { scopeWithin } from '../../src/process/sandbox-rules.js';
import type { Access } from '../../src/process/workspace.js';
import { beneath } from '../../src/sandbox/index.js';

let folder = '';
let files: FileSystem;
const at = (path: string): string => join(folder, path);

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-scope-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(at('ws/sub'), { recursive: true });
  mkdirSync(at('hidden/there'), { recursive: true });
  mkdirSync(at('from/sub'), { recursive: true });
  writeFileSync(at('hidden/file'), 'secret');
  writeFileSync(at('ws/keep'), 'kept');
  writeFileSync(at('from/keep'), 'overwritten');
  writeFileSync(at('from/other'), 'copied');
  symlinkSync(at('ws'), at('link'));
  const access = (path: string): Access => {
    if (beneath(path, at('hidden'))) return 'none';
    return beneath(path, at('ws')) || beneath(path, at('from')) ? 'write' : 'read';
  };
  const scope: FileScope = { folder: access, file: access };
  // As a client that sees the workspace through a link describes it.
  const readOnly = ['keep', '.git', 'sub/config'].map((name) => ({
    path: join(folder, 'link', name),
    missing: 'skip' as const,
  }));
  const rules = { kind: 'rules', network: 'restricted', files: { write: [at('ws'), at('from')], readOnly } } as const;
  files = new FileSystem(processLimits(), scopeWithin(rules, scope));
});

const refused = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ kind: 'invalidRequest' });

describe('what of a workspace is only to be read', () => {
  it('is neither overwritten nor replaced by a copy of a tree', async () => {
    await refused(files.copy(at('from'), at('ws'), 'recursive'));
    expect(readFileSync(at('ws/keep'), 'utf8')).toBe('kept');
    rmSync(at('from/keep'));
    symlinkSync('other', at('from/.git'));
    await refused(files.copy(at('from'), at('ws'), 'recursive'));
    rmSync(at('from/.git'));
    mkdirSync(at('from/.git'));
    await refused(files.copy(at('from'), at('ws'), 'recursive'));
    expect(existsSync(at('ws/.git'))).toBe(false);
    rmSync(at('from/.git'), { recursive: true });
    await files.copy(at('from'), at('ws'), 'recursive');
    expect(readFileSync(at('ws/other'), 'utf8')).toBe('copied');
  });

  it('is not removed with what is around it', async () => {
    writeFileSync(at('ws/sub/config'), 'kept');
    await refused(files.remove(at('ws/sub'), 'recursive', 'ignore'));
    await refused(files.remove(at('ws/keep'), 'flat', 'ignore'));
    expect(readFileSync(at('ws/sub/config'), 'utf8')).toBe('kept');
    expect(readFileSync(at('ws/keep'), 'utf8')).toBe('kept');
  });

  it('is not made while it is not there', async () => {
    for (const parents of ['recursive', 'flat'] as const) await refused(files.createDirectory(at('ws/.git'), parents));
    await refused(files.createDirectory(at('ws/.git/hooks'), 'recursive'));
    await refused(files.writeFile(at('ws/.git'), Buffer.from('gitdir: elsewhere')));
    await refused(files.copy(at('from/other'), at('ws/.git'), 'flat'));
    symlinkSync('other', at('from/pointer'));
    await refused(files.copy(at('from/pointer'), at('ws/.git'), 'flat'));
    symlinkSync('.git', at('ws/alias'));
    await refused(files.writeFile(at('ws/alias'), Buffer.from('gitdir: elsewhere')));
    expect(existsSync(at('ws/.git'))).toBe(false);
    await files.writeFile(at('ws/new'), Buffer.from('x'));
    await files.createDirectory(at('ws/a/b'), 'recursive');
  });
});

describe('what must not be seen', () => {
  it('answers the same whether it is there or not', async () => {
    symlinkSync(at('hidden/there'), at('ws/to-there'));
    symlinkSync(at('hidden/absent'), at('ws/to-absent'));
    symlinkSync(at('hidden/file/x'), at('ws/to-below'));
    const answer = async (path: string, work: (path: string) => Promise<unknown>): Promise<string> => {
      try {
        return JSON.stringify((await work(at(path))) ?? 'done');
      } catch (error) {
        const { kind, message } = error as Error & { kind: string };
        return `${kind} ${message.replaceAll(at(path), 'PATH')}`;
      }
    };
    const works: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
      readFile: (path) => files.readFile(path),
      getMetadata: (path) => files.getMetadata(path),
      canonicalize: (path) => files.canonicalize(path),
      readDirectory: (path) => files.readDirectory(path),
      writeFile: (path) => files.writeFile(path, Buffer.from('x')),
      createDirectory: (path) => files.createDirectory(path, 'recursive'),
      createOne: (path) => files.createDirectory(path, 'flat'),
      removeForced: (path) => files.remove(path, 'recursive', 'ignore'),
      remove: (path) => files.remove(path, 'recursive', 'refuse'),
      copyFrom: (path) => files.copy(path, at('ws/stolen'), 'recursive'),
      copyTo: (path) => files.copy(at('from/other'), path, 'recursive'),
    };
    for (const [name, work] of Object.entries(works)) {
      const direct = ['hidden/there', 'hidden/absent', 'hidden/absent/x', 'hidden/file/x', 'hidden/there/x'];
      const behind = ['ws/to-there/x', 'ws/to-absent/x', 'ws/to-below/x', 'ws/to-there/a/b'];
      const answers = await Promise.all([...direct, ...behind].map((path) => answer(path, work)));
      expect(new Set(answers), `${name}: ${answers.join('; ')}`).toHaveLength(1);
      expect(answers[0]).toMatch(
        /^(?:notFound path `PATH` is not visible|invalidRequest path `PATH` cannot be written)/,
      );
    }
    expect(readFileSync(at('hidden/file'), 'utf8')).toBe('secret');
  });
});

describe('a copy of a tree', () => {
  it('does not write into a FIFO that stands where a file is to go', async () => {
    execFileSync('mkfifo', [at('ws/other')]);
    const reader = openSync(at('ws/other'), constants.O_RDWR | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(reader));
    rmSync(at('from/keep'));
    await expect(files.copy(at('from'), at('ws'), 'recursive')).rejects.toThrow('other` is not a file');
  });
});

describe('fs/walk', () => {
  const options = { maxDepth: 4, maxDirectories: 10, maxEntries: 10, symlinks: 'skip', hidden: 'visit' } as const;

  it('says that it is cut when its paths are too long for one answer', async () => {
    const walked = async (walkBytes: number) => new FileSystem(processLimits({ walkBytes })).walk(at('from'), options);
    const all = await walked(10_000);
    expect([all.entries.length, all.truncated]).toEqual([3, false]);
    const cut = await walked(at('from/keep').length * 2);
    expect([cut.entries.length, cut.truncated]).toEqual([1, true]);
  });

  it('looks at no more entries of a folder than it may list, whatever they are', async () => {
    for (let index = 0; index < 20; index += 1) symlinkSync('nowhere', at(`from/link${index}`));
    const { truncated } = await new FileSystem(processLimits({ walkEntries: 10 })).walk(at('from'), options);
    expect(truncated).toBe(true);
  });

  it('stops when nobody waits for it any more', async () => {
    const signal = AbortSignal.abort();
    for (const work of [files.walk(at('ws'), options, { signal }), files.readDirectory(at('ws'), { signal })])
      await expect(work).rejects.toThrow(/abort/);
    await expect(files.readFile(at('ws/keep'), { signal })).rejects.toThrow(/abort/);
  });
});
