/** Inodes that are kept in memory. */
const MAX_INODES = 100_000;

/**
 * Counts a file with several hard links once. Containers decide how many such files there are: above a limit, each link
 * counts as a fraction of the file, which gives the same sum when all links are in the tree.
 */
export class HardLinkCounter {
  readonly #most: number;
  readonly #seen = new Set<number>();

  constructor(most = MAX_INODES) {
    this.#most = most;
  }

  /** The share of the file that this link counts as: 1, 0 or a fraction. */
  countedShare(inode: number, names: number): number {
    if (names <= 1) return 1;
    if (this.#seen.has(inode)) return 0;
    if (this.#seen.size >= this.#most) return 1 / names;
    this.#seen.add(inode);
    return 1;
  }
}
