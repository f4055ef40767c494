import type { Log } from '../../base/log.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { type DeviceCheckpoint, decodeCheckpoint, encodeCheckpoint } from './checkpoint.ts';

const NAME = 'kubelet_internal_checkpoint';

export interface CheckpointFileDeps {
  readonly fs: FileSystem;
  readonly log: Log;
  /** `<root>/device-plugins` */
  readonly folder: string;
  /** What has to be on disk now. */
  readonly current: () => DeviceCheckpoint;
}

/**
 * kubelet's checkpoint of devices.
 *
 * 1. The file is written as a whole, and only if its text changes. At most one write is in flight; the next one contains
 *    all changes until it begins: a plugin that reports in a loop costs one write at a time.
 * 2. A failed write rejects for all callers that wait for it.
 */
export class CheckpointFile {
  readonly #deps: CheckpointFileDeps;
  readonly #path: string;
  #onDisk: string | undefined;
  #isBehind = false;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(deps: CheckpointFileDeps) {
    this.#deps = deps;
    this.#path = `${deps.folder}/${NAME}`;
  }

  /**
   * Returns what an earlier agent wrote; `undefined` without a file. One that cannot be read is logged and left as it is
   * until the next write: kubelet starts without assignments then, too.
   */
  async read(): Promise<DeviceCheckpoint | undefined> {
    const { fs, log } = this.#deps;
    try {
      const text = await fs.readText(this.#path);
      const checkpoint = decodeCheckpoint(text);
      this.#onDisk = text;
      return checkpoint;
    } catch (error) {
      if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
      const message = 'Continue after failing to read checkpoint file. Device allocation info may NOT be up-to-date';
      log.error(message, { path: this.#path, error });
      return { entries: [], registered: new Map() };
    }
  }

  /** A write is in flight or has failed. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  /** Resolves when all changes made so far are on disk. */
  save(): Promise<void> {
    this.#next ??= this.#current
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        this.#current = this.#write();
        return this.#current;
      });
    return this.#next;
  }

  saveInBackground(): void {
    this.save().catch((error: unknown) => this.#deps.log.error('Failed to write checkpoint file', { error }));
  }

  async #write(): Promise<void> {
    const { fs, folder, current } = this.#deps;
    const text = encodeCheckpoint(current());
    if (text === this.#onDisk) return;
    this.#isBehind = true;
    await fs.makeDirectory(folder, 0o750);
    await fs.writeAtomic(this.#path, text, { mode: 0o600 });
    this.#onDisk = text;
    this.#isBehind = false;
  }
}
