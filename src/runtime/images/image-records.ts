import { errorText } from '../../base/error-text.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../base/log.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { hexOf } from '../storage/digest.ts';
import type { StorageLayout } from '../storage/storage-layout.ts';
import { hasDigest, normalizeReference } from './image-reference.ts';
import type { ImageConfig, ImageStore, StoredImage } from './image-store.ts';

/** The stored metadata of an image. */
export interface ImageRecord {
  readonly id: string;
  /** Full names, with a tag or a digest. */
  readonly references: readonly string[];
  /** Size of what was transferred: manifest, configuration and layers. */
  readonly sizeBytes: number;
  readonly config: ImageConfig;
  /** Lowest first. */
  readonly layers: readonly RecordedLayer[];
  /** When it got its references: of two records that claim the same reference, the newer one has it. */
  readonly recordedAtMs: number;
}

export interface RecordedLayer {
  readonly chainId: string;
  /** Disk usage of its directory. */
  readonly bytes: number;
  readonly inodes: number;
}

interface ImageFile extends ImageRecord {
  readonly configText: string;
}

export interface ImageRecordsDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  readonly layout: StorageLayout;
  readonly pinned: readonly string[];
}

/** Minimum length of an ID prefix; anything shorter is a name. */
const MIN_ID_PREFIX = 3;

/** The stored images, one file each. An image is on disk before it is listed. Has a single owner. */
export class ImageRecords implements ImageStore {
  readonly #deps: ImageRecordsDeps;
  readonly #byId = new Map<string, ImageRecord>();
  readonly #idOfReference = new Map<string, string>();
  readonly #pinned: ReadonlySet<string>;
  /** Serialized: a new image may take names from others. */
  readonly #changes = new KeyedMutex();

  constructor(deps: ImageRecordsDeps) {
    this.#deps = deps;
    this.#pinned = new Set(deps.pinned.map((name) => normalizeReference(name) ?? name));
  }

  /**
   * Reads the records on disk. An image without all of its layers is not listed and not touched: another kernel may
   * have created it.
   */
  async load(hasLayer: (chainId: string) => boolean): Promise<void> {
    const { fs, layout } = this.#deps;
    const names = (await fs.readDirectory(layout.images)).map(({ name }) => name);
    const records = await Promise.all(
      names.filter((name) => /^[0-9a-f]+\.json$/.test(name)).map((name) => this.#read(name)),
    );
    const whole = records
      .flatMap((record) => record ?? [])
      .filter(({ layers }) => layers.every((l) => hasLayer(l.chainId)));
    for (const record of whole.sort((a, b) => a.recordedAtMs - b.recordedAtMs)) this.#list(record);
  }

  find(reference: string): StoredImage | undefined {
    const record = this.record(reference);
    return record && this.#stored(record);
  }

  list(): readonly StoredImage[] {
    return [...this.#byId.values()].map((record) => this.#stored(record));
  }

  records(): Iterable<ImageRecord> {
    return this.#byId.values();
  }

  record(reference: string): ImageRecord | undefined {
    const name = normalizeReference(reference);
    const id = name === undefined ? undefined : this.#idOfReference.get(name);
    return this.#byId.get(id ?? reference) ?? this.#byIdPrefix(reference.replace(/^sha256:/, ''));
  }

  /** Returns the original configuration. */
  async configText(id: string): Promise<string> {
    const file = JSON.parse(await this.#deps.fs.readText(this.#path(id))) as ImageFile; // written by `#write`
    return file.configText;
  }

  /** The image keeps its references; other images lose those that it gets. */
  add(image: Omit<ImageRecord, 'recordedAtMs'>, config: Uint8Array): Promise<StoredImage> {
    return this.#changes.run('all', async () => {
      const known = this.#byId.get(image.id);
      const references = [...new Set([...(known?.references ?? []), ...image.references])];
      const record = { ...image, references, recordedAtMs: this.#deps.clock.now() };
      return this.#put(record, new TextDecoder('utf-8', { ignoreBOM: true }).decode(config));
    });
  }

  /** Adds a name to an image; another image that has it loses it. Rejects with `CriError`. */
  tag(image: string, name: string): Promise<StoredImage> {
    const whole = normalizeReference(name);
    return this.#changes.run('all', async () => {
      if (whole === undefined || hasDigest(whole)) {
        throw new CriError('InvalidArgument', `${JSON.stringify(name)} is not a name with a tag`);
      }
      const known = this.record(image);
      if (known === undefined) throw new CriError('NotFound', `image ${JSON.stringify(image)} not found`);
      const references = [...new Set([...known.references, whole])];
      return this.#put({ ...known, references, recordedAtMs: this.#deps.clock.now() }, await this.configText(known.id));
    });
  }

  /**
   * Removes a name from an image that has another name with a tag; otherwise returns `undefined` and changes nothing.
   */
  untag(name: string): Promise<StoredImage | undefined> {
    return this.#changes.run('all', async () => {
      const whole = normalizeReference(name);
      const known = this.#byId.get((whole && this.#idOfReference.get(whole)) ?? '');
      const references = known?.references.filter((reference) => reference !== whole) ?? [];
      if (!known || !whole || references.every(hasDigest)) return undefined;
      const left = { ...known, references };
      await this.#write(left, await this.configText(known.id));
      this.#idOfReference.delete(whole);
      this.#byId.set(known.id, left);
      return this.#stored(left);
    });
  }

  remove(id: string): Promise<void> {
    return this.#changes.run('all', async () => {
      const record = this.#byId.get(id);
      if (record === undefined) return;
      await this.#deps.fs.remove(this.#path(id));
      for (const reference of record.references) this.#idOfReference.delete(reference);
      this.#byId.delete(id);
    });
  }

  /** Removes temporary files of a killed process. */
  sweepFiles(): Promise<void> {
    return this.#changes.run('all', async () => {
      const { fs, layout } = this.#deps;
      for (const { name } of await fs.readDirectory(layout.images)) {
        if (name.endsWith('.tmp')) await fs.remove(`${layout.images}/${name}`);
      }
    });
  }

  /** Writes to disk before listing. After a crash between the two writes, the newer image has the name. */
  async #put(record: ImageRecord, configText: string): Promise<StoredImage> {
    await this.#write(record, configText);
    for (const loser of this.#list(record)) await this.#write(loser, await this.configText(loser.id));
    return this.#stored(record);
  }

  async #write(record: ImageRecord, configText: string): Promise<void> {
    const file: ImageFile = { ...record, configText };
    await this.#deps.fs.writeAtomic(this.#path(record.id), JSON.stringify(file));
  }

  async #read(name: string): Promise<ImageRecord | undefined> {
    const path = `${this.#deps.layout.images}/${name}`;
    try {
      const file = JSON.parse(await this.#deps.fs.readText(path)) as ImageFile; // written by `#write`
      const { configText: _, ...record } = file; // long and rarely needed
      return record;
    } catch (error) {
      // The next pull restores it.
      this.#deps.log.warn('cannot read image record', { path, error: errorText(error) });
      return undefined;
    }
  }

  /** Returns the records that lost a reference. */
  #list(record: ImageRecord): readonly ImageRecord[] {
    const losers = new Map<string, ImageRecord>();
    for (const reference of record.references) {
      const owner = this.#byId.get(this.#idOfReference.get(reference) ?? '');
      if (owner === undefined || owner.id === record.id) continue;
      const references = owner.references.filter((each) => !record.references.includes(each));
      losers.set(owner.id, { ...owner, references });
    }
    for (const loser of losers.values()) this.#byId.set(loser.id, loser);
    this.#byId.set(record.id, record);
    for (const reference of record.references) this.#idOfReference.set(reference, record.id);
    return [...losers.values()];
  }

  #byIdPrefix(beginning: string): ImageRecord | undefined {
    if (beginning.length < MIN_ID_PREFIX || !/^[0-9a-f]+$/.test(beginning)) return undefined;
    const found = [...this.#byId.values()].filter(({ id }) => hexOf(id).startsWith(beginning));
    return found.length === 1 ? found[0] : undefined;
  }

  #stored({ id, references, sizeBytes, config }: ImageRecord): StoredImage {
    return {
      id,
      repoTags: references.filter((reference) => !hasDigest(reference)),
      repoDigests: references.filter(hasDigest),
      sizeBytes,
      config,
      pinned: this.#pinned.has(id) || references.some((reference) => this.#pinned.has(reference)),
    };
  }

  #path(id: string): string {
    return `${this.#deps.layout.images}/${hexOf(id)}.json`;
  }
}
