import { errorText } from '../../base/error-text.ts';
import { ExpectedError } from '../../base/expected-error.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { PodResources } from './pod-allocation.ts';
import { decodeResources, encodeResources } from './resources-checkpoint.ts';

/** A checkpoint file is corrupt. The message says what the administrator has to do. */
export class CheckpointError extends ExpectedError {
  override readonly name = 'CheckpointError';
}

/**
 * One of kubelet's two checkpoint files of pod resources.
 *
 * 1. No other process writes the file while the agent runs: it is read once, at the start.
 * 2. The file is written as a whole, and only if its text changes. At most one write is in flight; the next one
 *    contains all changes until it begins, so many pods that start at once cost two writes.
 * 3. A failed write rejects for all callers that wait for it; the next `flush` retries it.
 */
export class ResourcesFile {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #pods: Map<string, PodResources>;
  #onDisk: string | undefined;
  #isDirty = false;
  /** The write in flight, or the last one. */
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(fs: FileSystem, path: string, text: string | undefined) {
    this.#fs = fs;
    this.#path = path;
    this.#onDisk = text;
    this.#pods = new Map(text === undefined ? [] : decodeResources(text));
  }

  /** Rejects for a corrupt file: kubelet does not start then either. A missing file is empty. */
  static async read(path: string, fs: FileSystem): Promise<ResourcesFile> {
    const text = await readIfExists(path, fs);
    try {
      return new ResourcesFile(fs, path, text);
    } catch (error) {
      const advice = `please drain this node and delete pod resource information checkpoint file "${path}"`;
      const message = `could not restore state from checkpoint: ${errorText(error)}, ${advice} before restarting`;
      throw new CheckpointError(message, { cause: error });
    }
  }

  get(uid: string): PodResources | undefined {
    return this.#pods.get(uid);
  }

  get uids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  set(uid: string, resources: PodResources): void {
    this.#pods.set(uid, resources);
    this.#isDirty = true;
  }

  remove(uid: string): void {
    if (this.#pods.delete(uid)) this.#isDirty = true;
  }

  /** Resolves when all changes made so far are on disk. */
  flush(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    if (!this.#isDirty) return this.#current;
    this.#next = this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        this.#current = this.#write();
        return this.#current;
      });
    return this.#next;
  }

  async #write(): Promise<void> {
    const text = encodeResources(this.#pods);
    this.#isDirty = false;
    if (text === this.#onDisk) return;
    try {
      await this.#fs.writeAtomic(this.#path, text, { mode: 0o600 });
      this.#onDisk = text;
    } catch (error) {
      this.#isDirty = true;
      throw error;
    }
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
