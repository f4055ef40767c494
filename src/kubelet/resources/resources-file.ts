import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { CheckpointError, CheckpointFile } from '../checkpoint/checkpoint-file.ts';
import type { PodResources } from './pod-allocation.ts';
import { decodeResources, encodeResources } from './resources-checkpoint.ts';

/** One of kubelet's two checkpoint files of pod resources. */
export class ResourcesFile {
  readonly #file: CheckpointFile;
  #pods = new Map<string, PodResources>();

  private constructor(path: string, fs: FileSystem) {
    this.#file = new CheckpointFile({ fs, path, text: () => encodeResources(this.#pods) });
  }

  /** Rejects for a corrupt file: kubelet does not start then either. A missing file is empty. */
  static async read(path: string, fs: FileSystem): Promise<ResourcesFile> {
    const resources = new ResourcesFile(path, fs);
    const text = await resources.#file.read();
    if (text === undefined) return resources;
    try {
      resources.#pods = new Map(decodeResources(text));
      return resources;
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
    this.#file.markChanged();
  }

  remove(uid: string): void {
    if (this.#pods.delete(uid)) this.#file.markChanged();
  }

  /** Resolves when all changes made so far are on disk. */
  flush(): Promise<void> {
    return this.#file.save();
  }
}
