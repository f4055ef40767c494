import { errorText } from '../../base/error-text.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { randomUid } from '../../base/random-uid.ts';
import { Semaphore } from '../../base/semaphore.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { LockFiles } from '../../host/lock-files.ts';
import type { Random } from '../../host/random.ts';
import { podDirectory } from '../pod/pod-paths.ts';
import { type ClaimRecord, formatClaimRecord, parseClaimRecord, type RecordedPod } from './claim-record.ts';

/** Only root enters: the directories of volumes below are open to all users. */
const FOLDER_MODE = 0o700;

/** As local-path provisioners: a container that does not run as root can write without an `fsGroup`. */
const VOLUME_MODE = 0o777;

export interface ClaimStoreDeps {
  readonly fs: FileSystem;
  readonly lockFiles: LockFiles;
  readonly random: Random;
  /** `<root>/volumes` */
  readonly folder: string;
  /** The agent's `--root-dir`, which has a folder `pods/<uid>` for each existing pod. */
  readonly rootDir: string;
}

export interface RecordsOnDisk {
  /** With the uses of existing pods. */
  readonly records: readonly ClaimRecord[];
  /** Why the others cannot be read, by `namespace/name`. They concern no other claim. */
  readonly unreadable: ReadonlyMap<string, Error>;
}

export type ClaimName = Pick<ClaimRecord, 'namespace' | 'name'>;

/** The volume cannot be removed, or does not exist. */
export class ClaimStoreError extends ExpectedError {
  override readonly name = 'ClaimStoreError';
}

/**
 * The claims of a node without a cluster, and their directories:
 *
 * - `<folder>/<namespace>/<name>`: the data;
 * - `<folder>/.records/<namespace>/<name>.json`: the record, written before the directory is created;
 * - `<folder>/.new/…`, `<folder>/.removed/…`: directories that are being created and removed.
 *
 * 1. Agent and command line exclude each other by a lock file while they change records.
 * 2. A volume that a pod uses is not removed. A use ends with its pod's directory, even without `stopUsing`.
 * 3. A removal is a rename followed by a clean-up: an interrupted removal never leaves a volume with a part of its data.
 */
export class ClaimStore {
  readonly #deps: ClaimStoreDeps;
  /** The lock file is polled: callers of this process wait here. */
  readonly #queue = new Semaphore(1);

  constructor(deps: ClaimStoreDeps) {
    this.#deps = deps;
  }

  /** `<root>/volumes` */
  get folder(): string {
    return this.#deps.folder;
  }

  /** The directory of a volume that is created for a claim. */
  directoryOf({ namespace, name }: ClaimName): string {
    return `${this.#deps.folder}/${namespace}/${name}`;
  }

  /** All records, by namespace and name, with the uses of existing pods. Rejects if one cannot be read. */
  async list(): Promise<readonly ClaimRecord[]> {
    const { records, unreadable } = await this.#read();
    for (const error of unreadable.values()) throw error;
    return records;
  }

  /** Calls `work` while no other caller and no other process changes records. */
  async exclusively<T>(work: (records: RecordsOnDisk) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { fs, lockFiles, folder } = this.#deps;
    const locked = async (): Promise<T> => {
      await fs.makeDirectory(folder, FOLDER_MODE);
      await using _lock = await lockFiles.acquire(`${folder}/.lock`, signal);
      return await work(await this.#read());
    };
    return this.#queue.run(locked, signal);
  }

  /** Writes a record and creates the directory of a volume without one. Only within `exclusively`. */
  async save(record: ClaimRecord): Promise<void> {
    const { fs, folder } = this.#deps;
    await fs.makeDirectory(`${folder}/.records`, FOLDER_MODE);
    await fs.makeDirectory(`${folder}/.records/${record.namespace}`, FOLDER_MODE);
    await fs.writeAtomic(this.#recordPath(record), formatClaimRecord(record), { mode: 0o600 });
    if (record.volume.kind !== 'provisioned') return;
    const path = this.directoryOf(record);
    if (await fs.stat(path)) return;
    // A process that is killed between mkdir(2) and chmod(2) must not leave a volume with another mode.
    const staged = `${folder}/.new/${record.uid}`;
    await fs.makeDirectory(`${folder}/.new`, FOLDER_MODE);
    await fs.makeDirectory(staged, VOLUME_MODE);
    await fs.changeMode(staged, VOLUME_MODE);
    await fs.makeDirectory(`${folder}/${record.namespace}`, FOLDER_MODE);
    await fs.rename(staged, path);
  }

  /** Ends all uses of a pod. Returns whether there were any. */
  async stopUsing(podUid: string, signal: AbortSignal): Promise<boolean> {
    const isUsed = ({ usedBy }: ClaimRecord): boolean => usedBy.some(({ uid }) => uid === podUid);
    if (!(await this.#read()).records.some(isUsed)) return false;
    return this.exclusively(async ({ records }) => {
      const used = records.filter(isUsed);
      for (const record of used) {
        await this.save({ ...record, usedBy: record.usedBy.filter(({ uid }) => uid !== podUid) });
      }
      return used.length > 0;
    }, signal);
  }

  /** Removes the ephemeral volumes of a pod with their data. */
  async removeOwned(podUid: string, signal: AbortSignal): Promise<void> {
    const isOwned = ({ owner }: ClaimRecord): boolean => owner?.uid === podUid;
    if ((await this.#read()).records.some(isOwned)) {
      await this.exclusively(async ({ records }) => {
        for (const record of records.filter(isOwned)) await this.#moveAway(record);
      }, signal);
    }
    await this.#removeMoved(signal);
  }

  /**
   * Removes a claim's volume and its data; the data of a PersistentVolume of the manifests stays. Rejects with a
   * `ClaimStoreError` if it does not exist or a pod uses it.
   */
  async remove({ namespace, name }: ClaimName, signal: AbortSignal): Promise<ClaimRecord> {
    const missing = new ClaimStoreError(`volume "${namespace}/${name}" not found`);
    if (!(await this.#exists())) throw missing;
    const removed = await this.exclusively(async ({ records, unreadable }) => {
      const error = unreadable.get(`${namespace}/${name}`);
      if (error) throw new ClaimStoreError(error.message, { cause: error });
      const record = records.find((each) => each.namespace === namespace && each.name === name);
      if (!record) throw missing;
      const pods = record.usedBy.map(podText).join(', ');
      if (pods !== '') throw new ClaimStoreError(`volume "${namespace}/${name}" is in use by pod ${pods}`);
      await this.#moveAway(record);
      return record;
    }, signal);
    await this.#removeMoved(signal);
    return removed;
  }

  /** Only within `exclusively`. The record goes last: what is left of an interrupted removal can be removed again. */
  async #moveAway(record: ClaimRecord): Promise<void> {
    const { fs, random, folder } = this.#deps;
    const path = this.directoryOf(record);
    if (record.volume.kind === 'provisioned' && (await fs.lstat(path))) {
      await fs.makeDirectory(`${folder}/.removed`, FOLDER_MODE);
      await fs.rename(path, `${folder}/.removed/${randomUid(random)}`).catch((error: unknown) => {
        const volume = `${record.namespace}/${record.name}`;
        throw new ClaimStoreError(`cannot remove volume "${volume}": ${errorText(error)}`, { cause: error });
      });
    }
    await fs.remove(this.#recordPath(record));
  }

  async #removeMoved(signal: AbortSignal): Promise<void> {
    const { fs, folder } = this.#deps;
    for (const name of await this.#namesIn(`${folder}/.removed`)) {
      await fs.removeTree(`${folder}/.removed/${name}`, signal);
    }
  }

  async #read(): Promise<RecordsOnDisk> {
    const { fs, folder } = this.#deps;
    const records: ClaimRecord[] = [];
    const unreadable = new Map<string, Error>();
    for (const namespace of await this.#namesIn(`${folder}/.records`)) {
      for (const file of await this.#namesIn(`${folder}/.records/${namespace}`)) {
        if (!file.endsWith('.json')) continue; // of an interrupted write
        const path = `${folder}/.records/${namespace}/${file}`;
        const text = await fs.readText(path).catch(undefinedIfMissing); // another process may have removed it
        const record = text === undefined ? undefined : parseClaimRecord(path, text);
        if (record instanceof Error) unreadable.set(`${namespace}/${file.slice(0, -'.json'.length)}`, record);
        else if (record) records.push(await this.#withLiveUses(record));
      }
    }
    return { records, unreadable };
  }

  async #withLiveUses(record: ClaimRecord): Promise<ClaimRecord> {
    const isLive = await Promise.all(record.usedBy.map((pod) => this.#podExists(pod)));
    return { ...record, usedBy: record.usedBy.filter((_, index) => isLive[index]) };
  }

  async #podExists({ uid }: RecordedPod): Promise<boolean> {
    return (await this.#deps.fs.lstat(podDirectory(this.#deps.rootDir, uid))) !== undefined;
  }

  async #exists(): Promise<boolean> {
    return (await this.#deps.fs.lstat(this.#deps.folder)) !== undefined;
  }

  #recordPath({ namespace, name }: ClaimName): string {
    return `${this.#deps.folder}/.records/${namespace}/${name}.json`;
  }

  async #namesIn(folder: string): Promise<readonly string[]> {
    const { fs } = this.#deps;
    if (!(await fs.lstat(folder))) return [];
    return (await fs.readDirectory(folder)).map(({ name }) => name);
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof FileSystemError && error.code === 'ENOENT') return;
  throw error;
}

/** `default/web` */
export function podText({ namespace, name }: RecordedPod): string {
  return `${namespace}/${name}`;
}
