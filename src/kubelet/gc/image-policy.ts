import { assertNever } from '../../base/assert-never.ts';
import { sizeText } from '../../base/size-text.ts';
import type { ImageRecord } from './image-records.ts';

/** When unused images are removed. kubelet's `imageGC*` and `image*GCAge`. */
export interface ImagePolicy {
  /** Disk usage that starts a collection; 100: never collect to free space. */
  readonly highPercent: number;
  /** Disk usage that the collection aims for. */
  readonly lowPercent: number;
  /** Younger images stay: a container may be about to use them. */
  readonly minimumAgeMs: number;
  /** Images that are unused for longer are removed; 0: never by age. */
  readonly maximumAgeMs: number;
}

/** Whether both reasons to collect are disabled. */
export function isImageCollectionOff({ highPercent, maximumAgeMs }: ImagePolicy): boolean {
  return highPercent === 100 && maximumAgeMs === 0;
}

/** Whether the image is unused for too long. `beganMs`: when collections began; earlier use is unknown. */
export function isTooOld(image: ImageRecord, policy: ImagePolicy, beganMs: number, nowMs: number): boolean {
  const { lastUsedMs = Number.NEGATIVE_INFINITY } = image;
  const { maximumAgeMs } = policy;
  if (maximumAgeMs === 0 || nowMs - beganMs <= maximumAgeMs) return false;
  // Unlike kubelet: an image that was just pulled and is about to be used does not count as never used.
  return nowMs - lastUsedMs > maximumAgeMs && isOldEnough(image, policy, nowMs);
}

/** Whether the image was first seen long enough ago to be removed. */
export function isOldEnough({ firstSeenMs }: ImageRecord, { minimumAgeMs }: ImagePolicy, nowMs: number): boolean {
  return nowMs - firstSeenMs >= minimumAgeMs;
}

export type DiskCheck =
  | { readonly kind: 'enough' }
  /** The file system reports no capacity. */
  | { readonly kind: 'noCapacity' }
  | { readonly kind: 'full'; readonly usedPercent: number; readonly bytesToFree: bigint };

/** Compares disk usage with the high threshold, and computes the bytes to free. Rounds as kubelet does. */
export function checkDisk(
  disk: { readonly capacityBytes: number; readonly availableBytes: number },
  { highPercent, lowPercent }: ImagePolicy,
): DiskCheck {
  const capacity = BigInt(disk.capacityBytes);
  if (capacity === 0n) return { kind: 'noCapacity' };
  const available = BigInt(Math.min(disk.availableBytes, disk.capacityBytes));
  const usedPercent = 100 - Number((available * 100n) / capacity);
  if (usedPercent < highPercent) return { kind: 'enough' };
  return { kind: 'full', usedPercent, bytesToFree: (capacity * BigInt(100 - lowPercent)) / 100n - available };
}

/** kubelet's error when not enough space was freed; `undefined` otherwise. */
export function diskCheckError(
  check: DiskCheck,
  capacityBytes: number,
  freedBytes: bigint,
): { readonly reason: 'InvalidDiskCapacity' | 'FreeDiskSpaceFailed'; readonly message: string } | undefined {
  switch (check.kind) {
    case 'enough':
      return undefined;
    case 'noCapacity':
      return { reason: 'InvalidDiskCapacity', message: 'invalid capacity 0 on image filesystem' };
    case 'full': {
      if (freedBytes >= check.bytesToFree) return undefined;
      const message =
        `Insufficient free disk space on the node's image filesystem (${check.usedPercent}% of ${sizeText(capacityBytes)} used). ` +
        `Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). ` +
        'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.';
      return { reason: 'FreeDiskSpaceFailed', message };
    }
    default:
      return assertNever(check);
  }
}
