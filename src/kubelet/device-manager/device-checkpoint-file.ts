import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { CheckpointFile } from '../checkpoint/checkpoint-file.ts';
import { type DeviceCheckpoint, decodeCheckpoint, encodeCheckpoint } from './checkpoint.ts';

const NAME = 'kubelet_internal_checkpoint';

export interface DeviceCheckpointFileDeps {
  readonly fs: FileSystem;
  readonly log: Log;
  /** `<root>/device-plugins` */
  readonly folder: string;
  /** What has to be on disk now. */
  readonly current: () => DeviceCheckpoint;
}

/** kubelet's checkpoint of devices. A plugin that reports in a loop costs one write at a time. */
export class DeviceCheckpointFile {
  readonly #log: Log;
  readonly #file: CheckpointFile;

  constructor({ fs, log, folder, current }: DeviceCheckpointFileDeps) {
    this.#log = log;
    this.#file = new CheckpointFile({ fs, path: `${folder}/${NAME}`, text: () => encodeCheckpoint(current()) });
  }

  /**
   * Returns what an earlier agent wrote; `undefined` without a file. One that cannot be read is logged and left as it is
   * until the next write: kubelet starts without assignments then, too.
   */
  async read(): Promise<DeviceCheckpoint | undefined> {
    try {
      const text = await this.#file.read();
      return text === undefined ? undefined : decodeCheckpoint(text);
    } catch (error) {
      const message = 'Continue after failing to read checkpoint file. Device allocation info may NOT be up-to-date';
      this.#log.error(message, { path: this.#file.path, error });
      return { entries: [], registered: new Map() };
    }
  }

  markChanged(): void {
    this.#file.markChanged();
  }

  /** Resolves when all changes made so far are on disk. */
  save(): Promise<void> {
    return this.#file.save();
  }

  saveInBackground(): void {
    this.markChanged();
    this.save().catch((error: unknown) => this.#log.error('Failed to write checkpoint file', { error }));
  }
}
