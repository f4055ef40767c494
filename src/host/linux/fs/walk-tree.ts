import type { Stats } from 'node:fs';
import type { KernelPath } from '../sys/kernel-path.ts';
import { FirstNames, type NamesInOrder } from './first-names.ts';
import { entriesOf, type FolderEntry, nameOfEntry } from './folder-entries.ts';
import { FolderWay, openFolder } from './folder-way.ts';

/** Names of a folder that are kept at a time. */
const PAGE_NAMES = 65_536;
/** Names of all folders on the way that are kept; those nearest to the root are read again. */
const MOST_NAMES = 2 * PAGE_NAMES;

/** Descriptors are good until the walk goes on. */
export type WalkEvent =
  /** A folder comes before all that is in it. */
  | { readonly kind: 'enter'; readonly path: string; readonly folder: number; readonly stats: Stats }
  /** What is no folder: a batch of at most `BATCH_ENTRIES`. */
  | {
      readonly kind: 'entries';
      readonly path: string;
      readonly folder: number;
      readonly entries: readonly FolderEntry[];
    }
  /** All that is in the folder `name` of the open folder was visited. Not of the root, whose parent is not open. */
  | { readonly kind: 'leave'; readonly parent: number; readonly name: string };

export interface WalkOptions {
  /** `byName`: the order of the names' bytes, one entry at a time. It takes one pass for each 65,536 names of a folder. */
  readonly order: 'any' | 'byName';
  /** Names kept, for tests. */
  readonly pageNames?: number;
}

type Events = AsyncGenerator<WalkEvent, void, void>;

interface Level {
  /** Relative to the root. */
  readonly path: string;
  readonly name: string;
  /** The next one last. */
  waiting: FolderEntry[];
  /** Names up to this one were visited. */
  after: string | undefined;
  reading: 'first' | 'again' | 'done';
}

/**
 * Visits a tree without following a link and without entering another file system. However many entries a folder has and
 * however deep the tree is, memory and descriptors are bounded; nothing is recursive. Nothing is yielded when `root` is no
 * folder. What goes away meanwhile is not visited.
 */
export async function* walkTree(
  root: KernelPath,
  { order, pageNames = PAGE_NAMES }: WalkOptions,
  signal?: AbortSignal,
): AsyncGenerator<WalkEvent, void, void> {
  const top = await openFolder(root);
  if (top === undefined) return;
  await using way = new FolderWay(top);
  yield { kind: 'enter', path: '', folder: top.fd, stats: top.stats };
  const levels = new Levels((MOST_NAMES / PAGE_NAMES) * pageNames);
  levels.push('', '');
  for (let level = levels.last; level !== undefined; level = levels.last) {
    signal?.throwIfAborted();
    const next = levels.take(level);
    if (next !== undefined) yield* visit(next, level, { way, levels, device: top.stats.dev });
    else if (level.reading !== 'done')
      levels.keep(level, yield* readLevel(level, way.last, { order, pageNames }, signal));
    else yield* leave(level, way, levels);
  }
}

interface Walk {
  readonly way: FolderWay;
  readonly levels: Levels;
  readonly device: number;
}

async function* visit(entry: FolderEntry, { path }: Level, { way, levels, device }: Walk): Events {
  const found = entry.isFolder ? await way.enter(entry.name) : undefined;
  if (found === undefined) {
    yield { kind: 'entries', path, folder: way.last, entries: [{ name: entry.name, isFolder: false }] };
    return;
  }
  const itsPath = pathOfEntry(path, entry.name);
  yield { kind: 'enter', path: itsPath, folder: found.fd, stats: found.stats };
  if (found.stats.dev === device) levels.push(itsPath, entry.name);
  else await way.leave();
}

async function* leave({ name }: Level, way: FolderWay, levels: Levels): Events {
  levels.pop();
  if (levels.depth === 0) return;
  await way.leave();
  if (way.depth === levels.depth) yield { kind: 'leave', parent: way.last, name };
  // Folders of the way were moved elsewhere meanwhile: it goes on where the way still leads.
  while (levels.depth > way.depth) levels.pop();
}

export function pathOfEntry(folder: string, name: string): string {
  return folder === '' ? nameOfEntry(name) : `${folder}/${nameOfEntry(name)}`;
}

async function* readLevel(
  level: Level,
  folder: number,
  { order, pageNames }: Required<WalkOptions>,
  signal?: AbortSignal,
): AsyncGenerator<WalkEvent, NamesInOrder, void> {
  const page = new FirstNames(level.after, pageNames);
  for await (const batch of entriesOf(folder)) {
    signal?.throwIfAborted();
    for (const entry of batch) if (entry.isFolder || order === 'byName') page.add(entry);
    if (order === 'byName' || level.reading === 'again') continue;
    const entries = batch.filter(({ isFolder }) => !isFolder);
    if (entries.length > 0) yield { kind: 'entries', path: level.path, folder, entries };
  }
  return page.inOrder();
}

/** The folders on the way and the names in them that are still to be visited, of which at most so many are kept. */
class Levels {
  readonly #most: number;
  readonly #levels: Level[] = [];
  #kept = 0;
  /** No level before it keeps names. */
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

  /** Names of the folders nearest to the root are forgotten for it: these are returned to last, and read again then. */
  keep(level: Level, { entries, isAll }: NamesInOrder): void {
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
