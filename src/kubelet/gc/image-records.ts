import type { Image } from '../../cri/generated/runtime-v1.ts';

/** Usage of an image. Times are monotonic milliseconds. */
export interface ImageRecord {
  readonly id: string;
  readonly sizeBytes: bigint;
  /** Pinned by the runtime. */
  readonly pinned: boolean;
  readonly firstSeenMs: number;
  /** When a container was last observed to use it; absent: never. */
  readonly lastUsedMs: number | undefined;
}

/** By image id. */
export type ImageRecords = ReadonlyMap<string, ImageRecord>;

/** Updates the records from the runtime's image list. `used`: ids of images that containers use. */
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

/** Removable images in order of removal: never used first, then least recently used; older ones first among equals. */
export function unusedImages(records: ImageRecords, inUse: ReadonlySet<string>): readonly ImageRecord[] {
  return [...records.values()].filter(({ id, pinned }) => !pinned && !inUse.has(id)).sort(byLastUse);
}

function byLastUse(a: ImageRecord, b: ImageRecord): number {
  const [used, otherUsed] = [a.lastUsedMs ?? Number.NEGATIVE_INFINITY, b.lastUsedMs ?? Number.NEGATIVE_INFINITY];
  if (used !== otherUsed) return used < otherUsed ? -1 : 1;
  return a.firstSeenMs - b.firstSeenMs;
}
