import { eventLoopTurn } from '../process/event-loop-turn.ts';
import type { FolderEntry } from './folder-entries.ts';

/** Names that are sorted before the event loop gets a turn: some 3 ms. */
const SLICE_NAMES = 2048;

export interface SortedNames {
  /** In descending order. */
  readonly entries: FolderEntry[];
  /** The folder has no more. */
  readonly isAll: boolean;
}

/**
 * The first `most` entries after a name, by bytes, of a folder that is read in any order. Memory is bounded by `most`; the
 * next page is found by reading the folder again. The entries are a heap with the greatest name on top: sorting all of them
 * at once would block the event loop.
 */
export class NamePage {
  readonly #after: string | undefined;
  readonly #most: number;
  readonly #heap: FolderEntry[] = [];
  #isAll = true;

  constructor(after: string | undefined, most: number) {
    this.#after = after;
    this.#most = most;
  }

  add(entry: FolderEntry): void {
    if (this.#after !== undefined && entry.name <= this.#after) return;
    const [last] = this.#heap;
    if (this.#heap.length < this.#most || last === undefined) {
      this.#rise(this.#heap.push(entry) - 1, entry);
      return;
    }
    this.#isAll = false;
    if (entry.name < last.name) this.#sink(entry);
  }

  async sorted(): Promise<SortedNames> {
    const entries: FolderEntry[] = [];
    for (let [last] = this.#heap; last !== undefined; [last] = this.#heap) {
      entries.push(last);
      const end = this.#heap.pop();
      if (end !== undefined && this.#heap.length > 0) this.#sink(end);
      if (entries.length % SLICE_NAMES === 0) await eventLoopTurn();
    }
    return { entries, isAll: this.#isAll };
  }

  #rise(from: number, entry: FolderEntry): void {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = this.#heap[above];
      if (parent === undefined || parent.name >= entry.name) break;
      this.#heap[at] = parent;
      at = above;
    }
    this.#heap[at] = entry;
  }

  /** Replaces the top. */
  #sink(entry: FolderEntry): void {
    let at = 0;
    for (;;) {
      const [left, right] = [this.#heap[2 * at + 1], this.#heap[2 * at + 2]];
      const isRight = left !== undefined && right !== undefined && right.name > left.name;
      const child = isRight ? right : left;
      if (child === undefined || child.name <= entry.name) break;
      this.#heap[at] = child;
      at = 2 * at + (isRight ? 2 : 1);
    }
    this.#heap[at] = entry;
  }
}
