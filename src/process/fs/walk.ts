import type { Dirent } from 'node:fs';
import { opendir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProcessLimits } from '../limits.js';
import { asFsRefusal, badRequest } from './errors.js';

export interface WalkOptions {
  readonly maxDepth: number;
  readonly maxDirectories: number;
  readonly maxEntries: number;
  readonly symlinks: 'follow-directories' | 'skip';
  readonly hidden: 'prune' | 'visit';
}

export interface WalkResult {
  readonly entries: { readonly path: string; readonly kind: 'file' | 'directory' }[];
  readonly errors: { readonly path: string; readonly message: string }[];
  readonly truncated: boolean;
}

type Kind = 'file' | 'directory' | 'other';

/** Lists a tree, breadth first and in the order of names. Links are skipped, unless those to folders are to be followed. */
export async function walk(root: string, options: WalkOptions, limits: ProcessLimits): Promise<WalkResult> {
  const { maxDepth, maxDirectories, maxEntries } = options;
  const { walkDepth, walkDirectories, walkEntries } = limits;
  if (maxDepth > walkDepth || maxDirectories > walkDirectories || maxEntries > walkEntries) {
    const most = `depth=${walkDepth}, directories=${walkDirectories}, entries=${walkEntries}`;
    throw badRequest(`filesystem walk limits exceed maximums: ${most}`);
  }
  const result = { entries: [] as WalkResult['entries'], errors: [] as WalkResult['errors'], truncated: false };
  if (!(await stat(root)).isDirectory()) return result;
  // Links may form circles: with them, no folder is entered twice under whatever name.
  const visited = new Set<string>();
  let queue: string[] = [root];
  let directories = 0;
  for (let depth = 0; queue.length > 0; depth += 1) {
    if (depth >= maxDepth) break;
    const next: string[] = [];
    for (const folder of queue) {
      if (directories >= maxDirectories) {
        result.truncated = true;
        return result;
      }
      directories += 1;
      try {
        if (options.symlinks === 'follow-directories') {
          const real = await realpath(folder);
          if (visited.has(real)) continue;
          visited.add(real);
        }
        // One more than can be used tells that something was left out.
        for (const entry of await listFolder(folder, options, walkEntries + 1)) {
          const path = join(folder, entry.name);
          const kind = await kindOf(entry, path, options);
          if (kind === 'other') continue;
          if (result.entries.length >= maxEntries) {
            result.truncated = true;
            return result;
          }
          result.entries.push({ path, kind });
          const enter = kind === 'directory' && !(options.hidden === 'prune' && entry.name.startsWith('.'));
          if (enter) next.push(path);
        }
      } catch (error) {
        // Only the root must be there; the rest may vanish or be closed to us at any time.
        if (folder === root) throw error;
        if (result.errors.length < maxEntries) {
          result.errors.push({ path: folder, message: asFsRefusal(error).message });
        }
      }
    }
    queue = next;
  }
  return result;
}

/** Reads a folder, in the order of names. A huge one costs no more than the most that any walk may list. */
async function listFolder(folder: string, options: WalkOptions, most: number): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(folder)) {
    const counts =
      entry.isFile() || entry.isDirectory() || (entry.isSymbolicLink() && options.symlinks === 'follow-directories');
    if (counts) entries.push(entry);
    if (entries.length >= most) break;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function kindOf(entry: Dirent, path: string, options: WalkOptions): Promise<Kind> {
  if (entry.isDirectory()) return 'directory';
  if (entry.isFile()) return 'file';
  if (options.symlinks === 'skip') return 'other';
  try {
    return (await stat(path)).isDirectory() ? 'directory' : 'other';
  } catch {
    return 'other';
  }
}
