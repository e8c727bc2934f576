import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Fields } from '../../src/process/fields.js';
import { EVERYTHING } from '../../src/process/fs/scope.js';
import { type SandboxRequest, sandboxRequest } from '../../src/process/sandbox-request.js';
import { narrowedTo, scopeWithin } from '../../src/process/sandbox-rules.js';
import { narrow, processPolicy } from '../../src/sandbox/index.js';
import { uri } from './raw-client.js';

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-rules-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'project/.git'), { recursive: true });
  mkdirSync(join(folder, 'other'));
});

const special = (kind: string, access: string, more: Record<string, unknown> = {}, entry = {}) => ({
  path: { type: 'special', value: { kind, ...more } },
  access,
  ...entry,
});
const ROOT = special('root', 'read');
const MOST = 64;
const SKIP = { missing_path_behavior: 'skip' };

/** A description as clients send it. */
function described(entries: readonly unknown[], more: Record<string, unknown> = {}): SandboxRequest | undefined {
  const permissions = { type: 'managed', file_system: { type: 'restricted', entries }, network: 'restricted' };
  const roots = [uri(join(folder, 'project'))];
  return sandboxRequest(new Fields({ permissions, workspaceRoots: roots, ...more }, 'later'), MOST);
}

function narrowed(request: SandboxRequest | undefined, workspace = join(folder, 'project')) {
  if (request?.kind !== 'rules') return request?.kind;
  const policy = processPolicy(workspace);
  const asked = narrowedTo(request, policy);
  return asked === undefined ? 'refused' : narrow(policy, asked).filesystem;
}

describe("a client's sandbox", () => {
  it('that lets the project be written, but for some of it, narrows the room to that', () => {
    const project = join(folder, 'project');
    const usual = described([
      ROOT,
      special('project_roots', 'write'),
      special('slash_tmp', 'write'),
      special('tmpdir', 'write'),
      special('project_roots', 'read', { subpath: '.git' }, SKIP),
      special('project_roots', 'read', { subpath: '.none' }, SKIP),
    ]);
    expect(usual).toMatchObject({ kind: 'rules', network: 'restricted' });
    expect(narrowed(usual)).toEqual({ write: [project], read: [join(project, '.git')], hide: [] });
    // A workspace around the project is only readable then.
    expect(narrowed(usual, folder)).toEqual({ write: [project], read: [folder, join(project, '.git')], hide: [] });
    // A working folder inside of it is not around what is excepted.
    mkdirSync(join(project, 'sub'));
    expect(narrowed(usual, join(project, 'sub'))).toEqual({ write: [join(project, 'sub')], read: [], hide: [] });
    expect(narrowed(usual, join(folder, 'other'))).toEqual({ write: [], read: [join(folder, 'other')], hide: [] });
  });

  it('that lets nothing be written makes everything readable only', () => {
    expect(narrowed(described([ROOT]))).toEqual({ write: [], read: [join(folder, 'project')], hide: [] });
  });

  it('is refused when a room cannot hold it', () => {
    const project = join(folder, 'project');
    mkdirSync(join(project, 'a/b'), { recursive: true });
    symlinkSync(join(folder, 'other'), join(project, 'link'));
    const write = special('project_roots', 'write');
    for (const exception of [
      // A folder in between could be put aside.
      special('project_roots', 'read', { subpath: 'a/b' }),
      // The link itself could be replaced.
      special('project_roots', 'read', { subpath: 'link' }),
      // It would have to be kept from being made.
      special('project_roots', 'read', { subpath: 'missing' }),
      { path: { type: 'path', path: uri(project) }, access: 'read' },
    ]) {
      expect(narrowed(described([ROOT, write, exception])), JSON.stringify(exception)).toBe('refused');
    }
    const around = { path: { type: 'path', path: uri(folder) }, access: 'read' };
    expect(narrowed(described([ROOT, write, around]))).toEqual({ write: [project], read: [], hide: [] });
  });

  it('is unknown when any of it is not understood', () => {
    const write = special('project_roots', 'write');
    for (const entries of [
      [write],
      [ROOT, { path: { type: 'glob_pattern', pattern: '**/.env' }, access: 'none' }],
      [ROOT, special('project_roots', 'none', { subpath: '.env' })],
      [ROOT, special('minimal', 'read')],
      [ROOT, { path: { type: 'path', path: '/not/a/uri' }, access: 'write' }],
      [ROOT, { access: 'write' }],
      [ROOT, 5],
    ]) {
      expect(described(entries)?.kind, JSON.stringify(entries)).toBe('unknown');
    }
    expect(described([ROOT, write], { workspaceRoots: 'here' })?.kind).toBe('unknown');
    expect(described([special('root', 'write')])).toMatchObject({ kind: 'rules', files: 'unrestricted' });
  });

  it('is unknown when it names more than can be followed, before its entries are filled in with its roots', () => {
    const entry = special('project_roots', 'read', SKIP);
    const roots = (count: number) => ({ workspaceRoots: Array.from({ length: count }, () => uri(folder)) });
    const entries = (count: number) => Array.from({ length: count }, () => entry);
    expect(described([ROOT, ...entries(MOST)])?.kind).toBe('unknown');
    expect(described([ROOT], roots(MOST))?.kind).toBe('rules');
    expect(described([ROOT], roots(MOST + 1))?.kind).toBe('unknown');
    expect(described([ROOT, entry], roots(MOST))?.kind).toBe('rules');
    expect(described([ROOT, entry, entry], roots(MOST))?.kind).toBe('unknown');
    const before = process.memoryUsage().heapUsed;
    const most = 1_024;
    const all = {
      permissions: {
        type: 'managed',
        network: 'restricted',
        file_system: { type: 'restricted', entries: entries(30_000) },
      },
    };
    expect(sandboxRequest(new Fields({ ...all, ...roots(60_000) }, 'later'), most)?.kind).toBe('unknown');
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100e6);
  });

  it('holds for files too', () => {
    const project = join(folder, 'project');
    const request = described([
      ROOT,
      special('project_roots', 'write'),
      special('project_roots', 'read', { subpath: '.git' }, SKIP),
    ]);
    if (request?.kind !== 'rules') throw new Error('it is understood');
    const scope = scopeWithin(request, EVERYTHING);
    expect(scope.file(join(project, 'file'))).toBe('write');
    expect(scope.folder(join(project, 'sub'))).toBe('write');
    expect(scope.file(join(project, '.git/config'))).toBe('read');
    expect(scope.folder(join(project, '.git'))).toBe('read');
    expect(scope.file(join(folder, 'other/file'))).toBe('read');
  });
});
