import type { IdRange, IdSpace } from './id-space.ts';

/**
 * Assigns ranges of ids to pods.
 *
 * 1. Ranges of different pods do not overlap; a pod has at most one.
 * 2. A released range is reused last, so that leftover files of a removed pod do not belong to another pod by accident.
 */
export class IdRanges {
  readonly #space: IdSpace;
  /** First id by pod UID. */
  readonly #owned = new Map<string, number>();
  readonly #taken = new Set<number>();
  #next = 0;

  constructor(space: IdSpace) {
    this.#space = space;
  }

  /** Returns the pod's range, or assigns a free one. Throws if all ranges are assigned. */
  allocate(uid: string): IdRange {
    const { first, length, perPod } = this.#space;
    const known = this.#owned.get(uid);
    if (known !== undefined) return { first: known, length: perPod };
    const count = length / perPod;
    for (let tried = 0; tried < count; tried++) {
      const index = (this.#next + tried) % count;
      const start = first + index * perPod;
      if (this.#taken.has(start)) continue;
      this.#next = index + 1;
      this.#own(uid, start);
      return { first: start, length: perPod };
    }
    throw new Error('could not find an empty slot to allocate a user namespace');
  }

  /** Restores a range that the pod has from a previous process. Throws kubelet's message for an invalid range. */
  record(uid: string, range: IdRange): void {
    const { first, length, perPod } = this.#space;
    if (range.length !== perPod) throw new Error(`wrong user namespace length ${range.length}`);
    if (range.first % perPod !== 0) throw new Error(`wrong user namespace offset specified ${range.first}`);
    const known = this.#owned.get(uid);
    if (known === range.first) return;
    if (known !== undefined) throw new Error(`different user namespace range already used by pod "${uid}"`);
    if (range.first < first || range.first >= first + length) throw new Error(`id ${range.first} is out of range`);
    if (this.#taken.has(range.first)) throw new Error(`range picked for pod "${uid}" already taken`);
    this.#own(uid, range.first);
  }

  /** Safe for a pod without a range. */
  release(uid: string): void {
    const start = this.#owned.get(uid);
    if (start === undefined) return;
    this.#owned.delete(uid);
    this.#taken.delete(start);
  }

  #own(uid: string, start: number): void {
    this.#owned.set(uid, start);
    this.#taken.add(start);
  }
}
