import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import type { ProcessLimits } from '../limits.js';
import { asFsRefusal, badRequest } from './errors.js';
import type { Gate } from './gate.js';
import { type Opened, openAny, openFolder } from './opened.js';

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

/** A folder to be listed: as it is called in the answer, and where it really is. */
interface Pending {
  readonly path: string;
  readonly real: string;
}

/** Lists a tree, breadth first and in the order of names. Links are skipped, unless those to folders are to be followed. */
export async function walk(
  gate: Gate,
  path: string,
  options: WalkOptions,
  limits: ProcessLimits,
  signal: AbortSignal | undefined,
): Promise<WalkResult> {
  const { maxDepth, maxDirectories, maxEntries } = options;
  const { walkDepth, walkDirectories, walkEntries } = limits;
  if (maxDepth > walkDepth || maxDirectories > walkDirectories || maxEntries > walkEntries) {
    const most = `depth=${walkDepth}, directories=${walkDirectories}, entries=${walkEntries}`;
    throw badRequest(`filesystem walk limits exceed maximums: ${most}`);
  }
  const result = { entries: [] as WalkResult['entries'], errors: [] as WalkResult['errors'], truncated: false };
  const root = await realRoot(gate, path);
  if (root === undefined) return result;
  // Links may form circles: with them, no folder is entered twice under whatever name.
  const visited = new Set<string>();
  let queue: Pending[] = [{ path, real: root }];
  let directories = 0;
  let bytes = 0;
  for (let depth = 0; queue.length > 0; depth += 1) {
    if (depth >= maxDepth) break;
    const next: Pending[] = [];
    for (const pending of queue) {
      if (directories >= maxDirectories) {
        result.truncated = true;
        return result;
      }
      directories += 1;
      try {
        signal?.throwIfAborted();
        await using folder = await enter(gate, pending, options);
        if (options.symlinks === 'follow-directories') {
          if (visited.has(folder.real)) continue;
          visited.add(folder.real);
        }
        const listed = await listFolder(folder, options, walkEntries);
        for (const entry of listed.entries) {
          const kind = await kindOf(gate, entry, folder, options);
          if (kind === 'other') continue;
          if (result.entries.length >= maxEntries) {
            result.truncated = true;
            return result;
          }
          const name = Buffer.from(entry.name, 'latin1').toString();
          const inner = { path: join(pending.path, name), real: join(folder.real, name) };
          bytes += Buffer.byteLength(inner.path);
          if (bytes > limits.walkBytes) {
            result.truncated = true;
            return result;
          }
          result.entries.push({ path: inner.path, kind });
          if (kind === 'directory' && !(options.hidden === 'prune' && name.startsWith('.'))) next.push(inner);
        }
        if (listed.cut) {
          result.truncated = true;
          return result;
        }
      } catch (error) {
        // Only the root must be there; the rest may vanish or be closed to us at any time.
        if (pending.path === path || signal?.aborted) throw error;
        bytes += Buffer.byteLength(pending.path);
        if (result.errors.length < maxEntries && bytes <= limits.walkBytes) {
          result.errors.push({ path: pending.path, message: asFsRefusal(error, pending.path).message });
        }
      }
    }
    queue = next;
  }
  return result;
}

async function realRoot(gate: Gate, path: string): Promise<string | undefined> {
  await using root = await gate.open(path);
  return (await root.stat()).isDirectory() ? root.real : undefined;
}

/** Opens a folder of the tree. Where links are not followed, it is where it was seen, or it is not opened. */
async function enter(gate: Gate, { path, real }: Pending, options: WalkOptions): Promise<Opened> {
  if (options.symlinks === 'follow-directories') return gate.readable(real);
  const folder = await openFolder(real, 'refuse');
  try {
    if (folder.real !== real) throw badRequest(`path \`${path}\` leads elsewhere by now`);
    gate.checkFolder(path, real, 'read');
    return folder;
  } catch (error) {
    await folder[Symbol.asyncDispose]();
    throw error;
  }
}

/** Reads a folder, in the order of names. Of a huge one only the beginning is looked at, whatever is in it. */
async function listFolder(
  folder: Opened,
  options: WalkOptions,
  most: number,
): Promise<{ readonly entries: Dirent[]; readonly cut: boolean }> {
  const entries: Dirent[] = [];
  let seen = 0;
  for await (const entry of folder.entries()) {
    seen += 1;
    if (seen > most) break;
    const counts =
      entry.isFile() || entry.isDirectory() || (entry.isSymbolicLink() && options.symlinks === 'follow-directories');
    if (counts) entries.push(entry);
  }
  return { entries: entries.sort((a, b) => (a.name < b.name ? -1 : 1)), cut: seen > most };
}

async function kindOf(gate: Gate, entry: Dirent, folder: Opened, options: WalkOptions): Promise<Kind> {
  if (entry.isDirectory()) return 'directory';
  if (entry.isFile()) return 'file';
  if (options.symlinks === 'skip') return 'other';
  try {
    await using opened = await openAny(folder.at(entry.name, 'latin1'));
    return (await opened.stat()).isDirectory() && gate.sees(opened.real, 'folder') ? 'directory' : 'other';
  } catch {
    return 'other';
  }
}
