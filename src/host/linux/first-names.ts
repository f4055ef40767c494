import type { FolderEntry } from './folder-entries.ts';

/**
 * The first `most` entries after a name, in the order of their bytes, of a folder that is read in any order. However many
 * the folder has, at most twice `most` are kept; the rest is found by reading the folder again.
 */
export class FirstNames {
  readonly #after: string | undefined;
  readonly #most: number;
  #kept: FolderEntry[] = [];
  /** Names behind it have no place any more. */
  #last: string | undefined;

  constructor(after: string | undefined, most: number) {
    this.#after = after;
    this.#most = most;
  }

  add(entry: FolderEntry): void {
    if (this.#after !== undefined && entry.name <= this.#after) return;
    if (this.#last !== undefined && entry.name > this.#last) return;
    this.#kept.push(entry);
    if (this.#kept.length >= 2 * this.#most) this.#cut();
  }

  /** In order, and whether these are all. */
  result(): { readonly entries: FolderEntry[]; readonly isAll: boolean } {
    if (this.#kept.length > this.#most) this.#cut();
    else this.#sort();
    return { entries: this.#kept, isAll: this.#last === undefined };
  }

  #cut(): void {
    this.#sort();
    this.#kept = this.#kept.slice(0, this.#most);
    this.#last = this.#kept.at(-1)?.name;
  }

  #sort(): void {
    this.#kept.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }
}
