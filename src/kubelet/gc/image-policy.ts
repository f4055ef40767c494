import { assertNever } from '../../base/assert-never.ts';
import { sizeText } from '../../base/size-text.ts';
import type { ImageRecord } from './image-records.ts';

/** When unused images go. kubelet's `imageGC*` and `image*GCAge`. */
export interface ImagePolicy {
  /** From this use of the disk on, images are removed; 100: never for want of space. */
  readonly highPercent: number;
  /** Down to this use of it. */
  readonly lowPercent: number;
  /** An image that was first seen more recently is left alone: it may be about to be used. */
  readonly minimumAgeMs: number;
  /** An image that was not used for longer goes, however much space there is; 0: age alone is no reason. */
  readonly maximumAgeMs: number;
}

/** With both of its reasons switched off there is nothing to do, not even to look. */
export function isImageCollectionOff({ highPercent, maximumAgeMs }: ImagePolicy): boolean {
  return highPercent === 100 && maximumAgeMs === 0;
}

/** Not used for so long that it goes. `beganMs`: since when somebody looks; what was used before that is not known. */
export function isTooOld(image: ImageRecord, policy: ImagePolicy, beganMs: number, nowMs: number): boolean {
  const { lastUsedMs = Number.NEGATIVE_INFINITY } = image;
  const { maximumAgeMs } = policy;
  if (maximumAgeMs === 0 || nowMs - beganMs <= maximumAgeMs) return false;
  // kubelet would take one that a pod has just pulled and is about to use for one that was never used.
  return nowMs - lastUsedMs > maximumAgeMs && isOldEnough(image, policy, nowMs);
}

/** Seen for long enough that it may go. */
export function isOldEnough({ firstSeenMs }: ImageRecord, { minimumAgeMs }: ImagePolicy, nowMs: number): boolean {
  return nowMs - firstSeenMs >= minimumAgeMs;
}

export type DiskCheck =
  | { readonly kind: 'enough' }
  /** Nothing can be said of a disk without a size. */
  | { readonly kind: 'noCapacity' }
  | { readonly kind: 'full'; readonly usedPercent: number; readonly bytesToFree: bigint };

/** Whether the disk with the images is fuller than it may be, and how much has to go then. Rounds as kubelet does. */
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

/** What kubelet says of a disk that cannot be helped; `undefined` when it can. */
export function diskCheckError(
  verdict: DiskCheck,
  capacityBytes: number,
  freedBytes: bigint,
): { readonly reason: 'InvalidDiskCapacity' | 'FreeDiskSpaceFailed'; readonly message: string } | undefined {
  switch (verdict.kind) {
    case 'enough':
      return undefined;
    case 'noCapacity':
      return { reason: 'InvalidDiskCapacity', message: 'invalid capacity 0 on image filesystem' };
    case 'full': {
      if (freedBytes >= verdict.bytesToFree) return undefined;
      const message =
        `Insufficient free disk space on the node's image filesystem (${verdict.usedPercent}% of ${sizeText(capacityBytes)} used). ` +
        `Failed to free sufficient space by deleting unused images (freed ${freedBytes} bytes). ` +
        'Investigate disk usage, as it could be used by active images, logs, volumes, or other data.';
      return { reason: 'FreeDiskSpaceFailed', message };
    }
    default:
      return assertNever(verdict);
  }
}
