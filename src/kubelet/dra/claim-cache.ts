import { errorText } from '../../base/error-text.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { type ClaimInfo, claimKey } from './claim-info.ts';
import { decodeClaims, encodeClaims } from './dra-checkpoint.ts';

/** The checkpoint of claims cannot be used. The message says what the administrator has to do. */
export class ClaimCheckpointError extends ExpectedError {
  override readonly name = 'ClaimCheckpointError';
}

/**
 * The claims that pods on this node use, and their copy on disk, kubelet's `dra_manager_state`.
 *
 * 1. No other process writes the file while the agent runs: it is read once, at the start.
 * 2. At most one write is in flight; the next one contains all changes until it begins.
 * 3. Which claims are prepared is not on disk, as in kubelet: after a restart of the agent a claim is prepared again for
 *    the next sandbox that uses it, which a driver answers as before.
 */
export class ClaimCache {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #byKey: Map<string, ClaimInfo>;
  readonly #prepared = new Set<string>();
  #onDisk: string | undefined;
  /** The write in flight, or the last one. */
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(fs: FileSystem, path: string, text: string | undefined) {
    this.#fs = fs;
    this.#path = path;
    this.#onDisk = text;
    const claims = text === undefined ? [] : decodeClaims(text);
    this.#byKey = new Map(claims.map((info) => [claimKey(info), info]));
  }

  /** Rejects for a corrupt file: kubelet does not start then either. A missing file is empty. */
  static async read(rootDir: string, fs: FileSystem): Promise<ClaimCache> {
    const path = `${rootDir}/dra_manager_state`;
    const text = await readIfExists(path, fs);
    try {
      return new ClaimCache(fs, path, text);
    } catch (error) {
      const failed = `create ResourceClaim cache: failed to get checkpoint dra_manager_state: ${errorText(error)}`;
      const message = `${failed}; please drain this node and delete the DRA state file "${path}" before restarting`;
      throw new ClaimCheckpointError(message, { cause: error });
    }
  }

  get all(): readonly ClaimInfo[] {
    return [...this.#byKey.values()];
  }

  get(key: string): ClaimInfo | undefined {
    return this.#byKey.get(key);
  }

  /** The keys of the claims that the pod uses, or may use. */
  ofPod(podUid: string): readonly string[] {
    return [...this.#byKey].flatMap(([key, { podUids }]) => (podUids.has(podUid) ? key : []));
  }

  set(info: ClaimInfo): void {
    this.#byKey.set(claimKey(info), info);
  }

  delete(key: string): void {
    this.#byKey.delete(key);
    this.#prepared.delete(key);
  }

  /** Whether this process has prepared the claim. */
  isPrepared(key: string): boolean {
    return this.#prepared.has(key);
  }

  setPrepared(key: string, isPrepared: boolean): void {
    if (isPrepared) this.#prepared.add(key);
    else this.#prepared.delete(key);
  }

  /** Resolves when all changes made so far are on disk. A failed write is repeated by the next call. */
  flush(): Promise<void> {
    this.#next ??= this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        this.#current = this.#write();
        return this.#current;
      });
    return this.#next;
  }

  async #write(): Promise<void> {
    const text = encodeClaims(this.all);
    if (text === this.#onDisk) return;
    await this.#fs.writeAtomic(this.#path, text, { mode: 0o600 });
    this.#onDisk = text;
  }
}

async function readIfExists(path: string, fs: FileSystem): Promise<string | undefined> {
  try {
    return await fs.readText(path);
  } catch (error) {
    if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
