import type { Image } from '../../cri/generated/runtime-v1.ts';

/** What is remembered of an image. Times are monotonic milliseconds. */
export interface ImageRecord {
  readonly id: string;
  readonly sizeBytes: bigint;
  /** The runtime itself wants to keep it. */
  readonly pinned: boolean;
  readonly firstSeenMs: number;
  /** When a container was last seen to use it; absent: never. */
  readonly lastUsedMs: number | undefined;
}

/** By image id. */
export type ImageRecords = ReadonlyMap<string, ImageRecord>;

/** What is known after another look at the runtime: `used` are the ids that some container has. */
export function updateImageRecords(
  before: ImageRecords,
  listed: readonly Image[],
  used: ReadonlySet<string>,
  nowMs: number,
): ImageRecords {
  return new Map(listed.map((image) => [image.id, updateRecord(before.get(image.id), image, used, nowMs)]));
}

function updateRecord(
  known: ImageRecord | undefined,
  { id, size, pinned }: Image,
  used: ReadonlySet<string>,
  nowMs: number,
): ImageRecord {
  return {
    id,
    sizeBytes: size,
    pinned,
    firstSeenMs: known?.firstSeenMs ?? nowMs,
    lastUsedMs: used.has(id) ? nowMs : known?.lastUsedMs,
  };
}

/** What may go, in that order: what was never used, then what was not used for longest; among equals the older one. */
export function unusedImages(records: ImageRecords, inUse: ReadonlySet<string>): readonly ImageRecord[] {
  return [...records.values()].filter(({ id, pinned }) => !pinned && !inUse.has(id)).sort(byLastUse);
}

function byLastUse(a: ImageRecord, b: ImageRecord): number {
  const [used, otherUsed] = [a.lastUsedMs ?? Number.NEGATIVE_INFINITY, b.lastUsedMs ?? Number.NEGATIVE_INFINITY];
  if (used !== otherUsed) return used < otherUsed ? -1 : 1;
  return a.firstSeenMs - b.firstSeenMs;
}
