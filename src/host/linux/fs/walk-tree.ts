import type { Stats } from 'node:fs';
import type { KernelPath } from '../sys/kernel-path.ts';
import { entryName, type FolderEntry, readEntries } from './folder-entries.ts';
import { FolderStack, openFolder } from './folder-stack.ts';
import { NamePage, type SortedNames } from './name-page.ts';

/** Names of one folder that are in memory at a time. */
const PAGE_NAMES = 65_536;
/** Names of all folders on the stack that are in memory; folders near the root are read again. */
const MAX_NAMES = 2 * PAGE_NAMES;

/** Descriptors are valid until the next event is requested. */
export type WalkEvent =
  /** Before the content of a folder. */
  | { readonly kind: 'enter'; readonly path: string; readonly folder: number; readonly stats: Stats }
  /** A batch of at most `BATCH_ENTRIES` entries that are not folders. */
  | {
      readonly kind: 'entries';
      readonly path: string;
      readonly folder: number;
      readonly entries: readonly FolderEntry[];
    }
  /** After the content of the folder `name` of the open folder `parent`. Not for the root, whose parent is not open. */
  | { readonly kind: 'leave'; readonly parent: number; readonly name: string };

export interface WalkOptions {
  /** `byName`: by the bytes of names, one entry per event. Takes one pass for each 65,536 names of a folder. */
  readonly order: 'any' | 'byName';
  /** The page size, for tests. */
  readonly pageNames?: number;
}

type Events = AsyncGenerator<WalkEvent, void, void>;

interface Level {
  /** Relative to the root. */
  readonly path: string;
  readonly name: string;
  /** In descending order. */
  waiting: FolderEntry[];
  /** The last name that was visited. */
  after: string | undefined;
  reading: 'first' | 'again' | 'done';
}

/**
 * Visits a tree without following links and without entering another filesystem. Memory and descriptors are bounded for any
 * number of entries and any depth; nothing is recursive. Yields nothing when `root` is not a folder. Files that are removed
 * meanwhile may not be visited.
 */
export async function* walkTree(
  root: KernelPath,
  { order, pageNames = PAGE_NAMES }: WalkOptions,
  signal?: AbortSignal,
): AsyncGenerator<WalkEvent, void, void> {
  const top = await openFolder(root);
  if (top === undefined) return;
  await using stack = new FolderStack(top);
  yield { kind: 'enter', path: '', folder: top.fd, stats: top.stats };
  const levels = new Levels((MAX_NAMES / PAGE_NAMES) * pageNames);
  levels.push('', '');
  for (let level = levels.last; level !== undefined; level = levels.last) {
    signal?.throwIfAborted();
    const next = levels.take(level);
    if (next !== undefined) yield* visit(next, level, { stack, levels, device: top.stats.dev });
    else if (level.reading !== 'done')
      levels.keep(level, yield* readLevel(level, stack.last, { order, pageNames }, signal));
    else yield* leave(level, stack, levels);
  }
}

interface Walk {
  readonly stack: FolderStack;
  readonly levels: Levels;
  readonly device: number;
}

async function* visit(entry: FolderEntry, { path }: Level, { stack, levels, device }: Walk): Events {
  const found = entry.isFolder ? await stack.enter(entry.name) : undefined;
  if (found === undefined) {
    yield { kind: 'entries', path, folder: stack.last, entries: [{ name: entry.name, isFolder: false }] };
    return;
  }
  const itsPath = entryTreePath(path, entry.name);
  yield { kind: 'enter', path: itsPath, folder: found.fd, stats: found.stats };
  if (found.stats.dev === device) levels.push(itsPath, entry.name);
  else await stack.leave();
}

async function* leave({ name }: Level, stack: FolderStack, levels: Levels): Events {
  levels.pop();
  if (levels.depth === 0) return;
  await stack.leave();
  if (stack.depth === levels.depth) yield { kind: 'leave', parent: stack.last, name };
  // Folders of the stack were moved meanwhile: the walk continues at the last one that is left.
  while (levels.depth > stack.depth) levels.pop();
}

export function entryTreePath(folder: string, name: string): string {
  return folder === '' ? entryName(name) : `${folder}/${entryName(name)}`;
}

async function* readLevel(
  level: Level,
  folder: number,
  { order, pageNames }: Required<WalkOptions>,
  signal?: AbortSignal,
): AsyncGenerator<WalkEvent, SortedNames, void> {
  const page = new NamePage(level.after, pageNames);
  for await (const batch of readEntries(folder)) {
    signal?.throwIfAborted();
    for (const entry of batch) if (entry.isFolder || order === 'byName') page.add(entry);
    if (order === 'byName' || level.reading === 'again') continue;
    const entries = batch.filter(({ isFolder }) => !isFolder);
    if (entries.length > 0) yield { kind: 'entries', path: level.path, folder, entries };
  }
  return page.sorted();
}

/** The folders on the stack and a bounded number of their unvisited names. */
class Levels {
  readonly #most: number;
  readonly #levels: Level[] = [];
  #kept = 0;
  /** Levels before it have no names in memory. */
  #firstKeeping = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get depth(): number {
    return this.#levels.length;
  }

  get last(): Level | undefined {
    return this.#levels.at(-1);
  }

  push(path: string, name: string): void {
    this.#levels.push({ path, name, waiting: [], after: undefined, reading: 'first' });
  }

  pop(): void {
    this.#kept -= this.#levels.pop()?.waiting.length ?? 0;
  }

  take(level: Level): FolderEntry | undefined {
    const next = level.waiting.pop();
    if (next === undefined) return undefined;
    this.#kept--;
    level.after = next.name;
    return next;
  }

  /** Drops the names of the folders nearest to the root for it: these are returned to last, and then read again. */
  keep(level: Level, { entries, isAll }: SortedNames): void {
    level.waiting = entries;
    level.reading = isAll ? 'done' : 'again';
    this.#kept += entries.length;
    const last = this.#levels.length - 1;
    this.#firstKeeping = Math.min(this.#firstKeeping, last);
    for (; this.#kept > this.#most && this.#firstKeeping < last; this.#firstKeeping++) {
      const far = this.#levels[this.#firstKeeping];
      if (far === undefined || far.waiting.length === 0) continue;
      this.#kept -= far.waiting.length;
      far.waiting = [];
      far.reading = 'again';
    }
  }
}
