import { withoutTagAndDigest } from '../../base/image-name.ts';
import type { Log } from '../../base/log.ts';
import { formatTime } from '../../base/rfc3339.ts';
import { ListImagesRequest } from '../../cri/generated/runtime-v1.ts';
import type { ImageService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { PullEvidence } from './image-access.ts';
import { asCredentials, type PulledFor, withPulledFor } from './merge-pull-record.ts';
import { encodeIntent, encodePulled, type ImagePulledRecord, recordFileName } from './pull-record.ts';
import { type RecordFolders, readRecordFolders, recordFolders, type StoredRecords } from './read-pull-records.ts';

export interface PullRecordsDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  readonly images: Pick<ImageService, 'listImages'>;
  readonly settings: { readonly rootDir: string };
}

/**
 * The records of pulls on disk, in kubelet's format: pulls in flight, and who each image was pulled for.
 * 1. The intent is on disk before a pull begins. It is removed after the pull has ended and its success is recorded:
 *    after a crash at any time an image that kubelet pulled is known as such.
 * 2. No other process writes these files: they are read once.
 */
export class PullRecords {
  readonly #deps: PullRecordsDeps;
  readonly #folders: RecordFolders;
  readonly #life: AbortSignal;
  #stored: Promise<StoredRecords> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** The number of pulls in flight by image. */
  readonly #inFlight = new Map<string, number>();

  constructor(deps: PullRecordsDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
    this.#folders = recordFolders(deps.settings.rootDir);
  }

  /** The record of a present image. Never rejects. */
  evidence(image: string, imageRef: string): Promise<PullEvidence> {
    return this.#serialize(async ({ pulled, intents }): Promise<PullEvidence> => {
      const record = pulled.get(recordFileName(imageRef));
      if (record === 'unreadable') return { kind: 'unreadable' };
      if (record?.imageRef === imageRef) return { kind: 'pulled', record };
      const intent = intents.get(recordFileName(image));
      if (intent === 'unreadable' && !this.#inFlight.has(image)) return { kind: 'unreadable' };
      return { kind: this.#inFlight.has(image) || intent === image ? 'intent' : 'none' };
    }).catch((error: unknown) => {
      this.#deps.log.error('cannot read the records of image pulls', { error });
      return { kind: 'unreadable' };
    });
  }

  /**
   * Called before a pull, and followed by `recordPulled` or `recordPullFailed`. Rejects if the intent cannot be
   * written.
   */
  recordIntent(image: string): Promise<void> {
    return this.#serialize(async ({ intents }) => {
      const count = this.#inFlight.get(image) ?? 0;
      if (count === 0) {
        await this.#write(this.#folders.pulling, image, encodeIntent(image));
        intents.set(recordFileName(image), image);
      }
      this.#inFlight.set(image, count + 1);
    });
  }

  /** If the record cannot be written, the intent stays, so that the image still counts as pulled by kubelet. */
  async recordPulled(image: string, imageRef: string, pulledFor: PulledFor): Promise<void> {
    try {
      await this.#serialize((found) => this.#add(found, image, imageRef, pulledFor));
    } catch (error) {
      this.#deps.log.error('cannot write the record of an image pull', { imageRef, error });
      return;
    }
    await this.#removeIntentAfterLast(image);
  }

  /** The pull has failed. Never rejects. */
  async recordPullFailed(image: string): Promise<void> {
    // If the agent is stopping, the runtime may still complete the pull: the intent stays for the next process.
    if (!this.#life.aborted) await this.#removeIntentAfterLast(image);
  }

  /** Adds an entry to the record of a present image. Never rejects. */
  async recordAccess(image: string, imageRef: string, pulledFor: PulledFor): Promise<void> {
    await this.#serialize((found) => this.#add(found, image, imageRef, pulledFor)).catch((error: unknown) =>
      this.#deps.log.error('cannot write the record of an image pull', { imageRef, error }),
    );
  }

  /**
   * Removes the records of removed images. Called after image GC with the references of all remaining images and the
   * monotonic time before they were listed. Records that were confirmed since then stay. Never rejects.
   */
  async prune(imageRefs: ReadonlySet<string>, beganMs: number): Promise<void> {
    await this.#serialize(async ({ pulled, confirmedMs }) => {
      for (const [file, record] of pulled) {
        if (record === 'unreadable' || imageRefs.has(record.imageRef)) continue;
        if ((confirmedMs.get(file) ?? Number.NEGATIVE_INFINITY) >= beganMs) continue;
        await this.#deps.fs.remove(`${this.#folders.pulled}/${file}`);
        pulled.delete(file);
        confirmedMs.delete(file);
      }
    }).catch((error: unknown) => this.#deps.log.error('cannot remove the records of image pulls', { error }));
  }

  /** The number of files; `undefined` if they cannot be read. */
  counts(): Promise<{ readonly intents: number; readonly pulled: number } | undefined> {
    return this.#serialize(async ({ intents, pulled }) => ({ intents: intents.size, pulled: pulled.size })).catch(
      () => undefined,
    );
  }

  async #add(found: StoredRecords, image: string, imageRef: string, pulledFor: PulledFor | undefined): Promise<void> {
    const file = recordFileName(imageRef);
    const known = found.pulled.get(file);
    const { clock } = this.#deps;
    const name = withoutTagAndDigest(image);
    const record = changedRecord(known, { imageRef, name, pulledFor, now: formatTime(clock.now()) });
    if (record) {
      await this.#write(this.#folders.pulled, imageRef, encodePulled(record));
      found.pulled.set(file, record);
    }
    found.confirmedMs.set(file, clock.monotonic());
  }

  /** Removes the intent after the last pull in flight. */
  async #removeIntentAfterLast(image: string): Promise<void> {
    await this.#serialize(async (found) => {
      const left = (this.#inFlight.get(image) ?? 1) - 1;
      if (left > 0) this.#inFlight.set(image, left);
      if (left > 0) return;
      await this.#removeIntent(found, image);
      this.#inFlight.delete(image);
    }).catch((error: unknown) => this.#deps.log.error('cannot remove an image pull intent', { image, error }));
  }

  async #removeIntent({ intents }: StoredRecords, image: string): Promise<void> {
    const file = recordFileName(image);
    await this.#deps.fs.remove(`${this.#folders.pulling}/${file}`);
    intents.delete(file);
  }

  async #write(folder: string, name: string, text: string): Promise<void> {
    const { fs } = this.#deps;
    await fs.makeDirectory(this.#folders.root, 0o700);
    await fs.makeDirectory(folder, 0o700);
    await fs.writeAtomic(`${folder}/${recordFileName(name)}`, text, { mode: 0o600 });
  }

  /** Runs one operation at a time, after the records were read. A failed read is retried by the next operation. */
  async #serialize<T>(work: (found: StoredRecords) => Promise<T>): Promise<T> {
    const before = this.#last;
    const mine = before.then(async () => {
      this.#stored ??= this.#read();
      return work(await this.#stored);
    });
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #read(): Promise<StoredRecords> {
    try {
      const found = await readRecordFolders(this.#folders, this.#deps.fs);
      if (found.intents.size > 0) await this.#resolveIntents(found);
      return found;
    } catch (error) {
      this.#stored = undefined;
      throw error;
    }
  }

  /**
   * Converts the intents of a previous process whose pulls have completed. Who they were for is unknown, so the next
   * pod has to prove its access.
   */
  async #resolveIntents(found: StoredRecords): Promise<void> {
    const { images, log } = this.#deps;
    const request = ListImagesRequest.fromPartial({});
    const listed = await images.listImages(request, this.#life).catch((error: unknown) => {
      log.error('cannot list images to resolve interrupted pulls', { error });
      return { images: [] };
    });
    const intended = new Set(found.intents.values());
    for (const { id, repoTags, repoDigests } of listed.images) {
      for (const image of [...repoTags, ...repoDigests].filter((name) => intended.has(name))) {
        await this.#resolveIntent(found, image, id);
      }
    }
  }

  /** On an error the intent stays: it grants no more access than a record without credentials. */
  async #resolveIntent(found: StoredRecords, image: string, imageRef: string): Promise<void> {
    try {
      await this.#add(found, image, imageRef, undefined);
      await this.#removeIntent(found, image);
    } catch (error) {
      this.#deps.log.error('cannot resolve image pull intent', { image, error });
    }
  }
}

interface Addition {
  readonly imageRef: string;
  readonly name: string;
  /** Absent: unknown. */
  readonly pulledFor: PulledFor | undefined;
  readonly now: string;
}

function changedRecord(
  known: ImagePulledRecord | 'unreadable' | undefined,
  { imageRef, name, pulledFor, now }: Addition,
): ImagePulledRecord | undefined {
  if (known !== undefined && known !== 'unreadable' && known.imageRef === imageRef) {
    return pulledFor && withPulledFor(known, name, pulledFor, now);
  }
  const credentialMapping = pulledFor && { [name]: asCredentials(pulledFor) };
  return { lastUpdatedTime: now, imageRef, ...(credentialMapping && { credentialMapping }) };
}
