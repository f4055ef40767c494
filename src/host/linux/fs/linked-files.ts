/** As many files are remembered. */
const MOST_REMEMBERED = 100_000;

/**
 * Counts a file with several names once. A container decides how many such files there are: past a bound, each name
 * counts for its share of the file, which comes to the same when all names are in the tree.
 */
export class LinkedFiles {
  readonly #most: number;
  readonly #seen = new Set<number>();

  constructor(most = MOST_REMEMBERED) {
    this.#most = most;
  }

  /** How much of a file counts for this name of it: 1, 0 or a part. */
  shareOf(inode: number, names: number): number {
    if (names <= 1) return 1;
    if (this.#seen.has(inode)) return 0;
    if (this.#seen.size >= this.#most) return 1 / names;
    this.#seen.add(inode);
    return 1;
  }
}
