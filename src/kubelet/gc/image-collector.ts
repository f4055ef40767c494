import { formatDurationMs } from '../../base/duration.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import { traceWork } from '../../base/trace-work.ts';
import { ImageSpec } from '../../cri/generated/runtime-v1.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { Cri } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem, FileSystemUsage } from '../../host/file-system.ts';
import { IMAGES_SCOPE } from '../events/trace-names.ts';
import { imageChannel } from '../images/image-channel.ts';
import {
  checkDisk,
  diskCheckError,
  type ImagePolicy,
  isImageCollectionOff,
  isOldEnough,
  isTooOld,
} from './image-policy.ts';
import { type ImageRecord, type ImageRecords, unusedImages, updateImageRecords } from './image-records.ts';
import { imagesInUse } from './images-in-use.ts';
import { MountedImages } from './mounted-images.ts';
import type { RecordNodeEvent } from './node-event.ts';

/** kubelet's ImageGCPeriod. */
const PERIOD_MS = 300_000;
/** Go's largest 64-bit number. */
const MOST_BYTES = 2n ** 63n - 1n;

export interface ImageCollectorDeps {
  readonly cri: Cri;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  readonly policy: ImagePolicy;
  /** Names of images that are never removed. */
  readonly keptImages: readonly string[];
  readonly recordNodeEvent: RecordNodeEvent;
  /** Called with the remaining images after images were removed to free space, so that their records can be removed. */
  readonly onCollected?: (imageIds: readonly string[], beganMs: number) => Promise<void>;
}

/** Image GC: removes unused images that are too old, and, when the disk is full, the least recently used ones. */
export class ImageCollector {
  readonly #deps: ImageCollectorDeps;
  readonly #mounted: MountedImages;
  #records: ImageRecords = new Map();
  #diskError: string | undefined;

  constructor(deps: ImageCollectorDeps) {
    this.#deps = deps;
    this.#mounted = new MountedImages(deps.cri.runtime);
  }

  /** Why the disk was still too full after the last collection that could measure it. */
  get diskError(): string | undefined {
    return this.#diskError;
  }

  /** Collects every five minutes until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, recordNodeEvent, policy } = this.#deps;
    if (isImageCollectionOff(policy)) {
      return log.debug('ImageGCHighThresholdPercent is set 100 and ImageMaximumGCAge is 0, Disable image GC');
    }
    const beganMs = clock.monotonic();
    for (let failures = 0; !signal.aborted; ) {
      try {
        await traceWork(
          () => ({ name: 'Images/GarbageCollect', scope: IMAGES_SCOPE, subject: 'images' }),
          () => this.collect(beganMs, signal),
        );
        log[failures > 0 ? 'info' : 'debug']('Image garbage collection succeeded');
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        if (failures > 1) {
          log.error('Image garbage collection failed multiple times in a row', { error });
          recordNodeEvent('Warning', 'ImageGCFailed', goErrorText(error));
        } else {
          log.error('Image garbage collection failed once. Stats initialization may not have completed yet', { error });
        }
      }
      await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
    }
  }

  /** Collects once. `beganMs`: when collections began. Rejects when the disk stays too full. */
  async collect(beganMs: number, signal: AbortSignal): Promise<void> {
    const { policy, log, recordNodeEvent, clock } = this.#deps;
    const nowMs = clock.monotonic();
    const unused = await this.#listUnused(nowMs, signal);
    await this.#removeTooOld(unused, beganMs, nowMs, signal);
    const disk = await this.#disk(signal);
    const check = checkDisk(disk, policy);
    let freed = 0n;
    if (check.kind === 'full') {
      const { usedPercent: usage, bytesToFree: amountToFree } = check;
      const { highPercent: highThreshold, lowPercent: lowThreshold } = policy;
      const fields = { usage, highThreshold, amountToFree, lowThreshold };
      log.info(
        'Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold',
        fields,
      );
      freed = await this.#free(amountToFree, nowMs, unused, signal);
    }
    const error = diskCheckError(check, disk.capacityBytes, freed);
    this.#diskError = error?.message;
    if (!error) return;
    recordNodeEvent('Warning', error.reason, error.message);
    throw new Error(error.message);
  }

  /** Removes every unused image that is old enough: the node is short of disk space. */
  async removeUnused(signal: AbortSignal): Promise<void> {
    const nowMs = this.#deps.clock.monotonic();
    await this.#free(MOST_BYTES, nowMs, await this.#listUnused(nowMs, signal), signal);
  }

  async #listUnused(nowMs: number, signal: AbortSignal): Promise<readonly ImageRecord[]> {
    const { cri, keptImages } = this.#deps;
    const { images } = await cri.images.listImages({ filter: undefined }, signal);
    const deps = { cri, keptImages, mounted: this.#mounted };
    const { used, preserved } = await imagesInUse(images, deps, signal);
    this.#records = updateImageRecords(this.#records, images, used, nowMs);
    return unusedImages(this.#records, used.union(preserved));
  }

  async #removeTooOld(
    unused: readonly ImageRecord[],
    beganMs: number,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { policy } = this.#deps;
    const failures: unknown[] = [];
    for (const image of unused.filter((each) => isTooOld(each, policy, beganMs, nowMs))) {
      await this.#remove(image, 'age', signal).catch((error: unknown) => failures.push(error));
    }
    if (failures.length === 0) return;
    const age = formatDurationMs(policy.maximumAgeMs);
    throw new Error(
      `wanted to free images older than ${age}, encountered errors in image deletion: ${goErrorText(new AggregateError(failures))}`,
    );
  }

  /** Removes images one after the other until `bytes` are freed; returns the freed bytes. */
  async #free(bytes: bigint, nowMs: number, unused: readonly ImageRecord[], signal: AbortSignal): Promise<bigint> {
    const { policy, onCollected } = this.#deps;
    const failures: unknown[] = [];
    let freed = 0n;
    for (const image of unused) {
      if (freed >= bytes) break;
      if (!this.#records.has(image.id) || !isOldEnough(image, policy, nowMs)) continue;
      try {
        await this.#remove(image, 'space', signal);
        freed += image.sizeBytes;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) {
      const sizes = `wanted to free ${bytes} bytes, but freed ${freed} bytes space`;
      throw new Error(`${sizes} with errors in image deletion: ${goErrorText(new AggregateError(failures))}`);
    }
    await onCollected?.([...this.#records.keys()], nowMs);
    return freed;
  }

  async #remove(
    { id: imageID, sizeBytes: size }: ImageRecord,
    reason: 'age' | 'space',
    signal: AbortSignal,
  ): Promise<void> {
    this.#deps.log.info('Removing image to free bytes', { imageID, size });
    const image = ImageSpec.create({ image: imageID });
    await this.#deps.cri.images.removeImage({ image }, signal);
    imageChannel.publish({ kind: 'collected', reason });
    const left = new Map(this.#records);
    left.delete(imageID);
    this.#records = left;
  }

  /** Usage of the image file system; the first one, if the runtime has several. */
  async #disk(signal: AbortSignal): Promise<FileSystemUsage> {
    const { cri, fs } = this.#deps;
    const [first] = (await cri.images.imageFsInfo({}, signal)).imageFilesystems;
    if (!first) throw new Error('imageFs information is unavailable');
    try {
      return await fs.usage(first.fsId?.mountpoint ?? '');
    } catch (error) {
      const what = 'Failed to get the info of the filesystem with mountpoint';
      throw new Error(`get filesystem info: ${what}: ${errorText(error)}`, { cause: error });
    }
  }
}
