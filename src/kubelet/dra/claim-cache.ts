import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { CheckpointError, CheckpointFile } from '../checkpoint/checkpoint-file.ts';
import { type ClaimInfo, claimKey } from './claim-info.ts';
import { decodeClaims, encodeClaims } from './dra-checkpoint.ts';

/**
 * The claims that pods on this node use, and their copy on disk, kubelet's `dra_manager_state`.
 *
 * Which claims are prepared is not on disk, as in kubelet: after a restart of the agent a claim is prepared again for the
 * next sandbox that uses it, which a driver answers as before.
 */
export class ClaimCache {
  readonly #file: CheckpointFile;
  #byKey = new Map<string, ClaimInfo>();
  readonly #prepared = new Set<string>();

  private constructor(fs: FileSystem, path: string) {
    this.#file = new CheckpointFile({ fs, path, text: () => encodeClaims(this.all) });
  }

  /** Rejects for a corrupt file: kubelet does not start then either. A missing file is empty. */
  static async read(rootDir: string, fs: FileSystem): Promise<ClaimCache> {
    const path = `${rootDir}/dra_manager_state`;
    const cache = new ClaimCache(fs, path);
    const text = await cache.#file.read();
    if (text === undefined) return cache;
    try {
      cache.#byKey = new Map(decodeClaims(text).map((info) => [claimKey(info), info]));
      return cache;
    } catch (error) {
      const failed = `create ResourceClaim cache: failed to get checkpoint dra_manager_state: ${errorText(error)}`;
      const message = `${failed}; please drain this node and delete the DRA state file "${path}" before restarting`;
      throw new CheckpointError(message, { cause: error });
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
    this.#file.markChanged();
  }

  delete(key: string): void {
    this.#byKey.delete(key);
    this.#prepared.delete(key);
    this.#file.markChanged();
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
    return this.#file.save();
  }
}
