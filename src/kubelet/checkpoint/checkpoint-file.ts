import { dirname } from 'node:path/posix';
import { ExpectedError } from '../../base/expected-error.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o750;

/** A checkpoint cannot be used. The message says what the administrator has to do. */
export class CheckpointError extends ExpectedError {
  override readonly name = 'CheckpointError';
}

export interface CheckpointFileDeps {
  readonly fs: FileSystem;
  readonly path: string;
  /** What has to be on disk now. Called when a write begins. */
  readonly text: () => string;
}

/**
 * One of kubelet's checkpoint files. Its owner keeps the state and marks it as changed.
 *
 * 1. No other process writes the file while the agent runs: it is read once, at the start.
 * 2. It is written as a whole, and only if its text changes. At most one write is in flight; the next one contains all
 *    changes until it begins, so that many changes at once cost two writes.
 * 3. A failed write rejects for all callers that wait for it; the next `save` repeats it.
 */
export class CheckpointFile {
  readonly #deps: CheckpointFileDeps;
  /** `undefined`: no file, or nothing is known after a failed write. */
  #onDisk: string | undefined;
  #isChanged = false;
  /** The write in flight, or the last one. */
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(deps: CheckpointFileDeps) {
    this.#deps = deps;
  }

  get path(): string {
    return this.#deps.path;
  }

  /** `undefined`: there is no file. */
  async read(): Promise<string | undefined> {
    const { fs, path } = this.#deps;
    try {
      this.#onDisk = await fs.readText(path);
      return this.#onDisk;
    } catch (error) {
      if (error instanceof FileSystemError && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  markChanged(): void {
    this.#isChanged = true;
  }

  /** Resolves when all changes made so far are on disk. */
  save(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    if (!this.#isChanged) return this.#current;
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
    const { fs, path, text: currentText } = this.#deps;
    const text = currentText();
    this.#isChanged = false;
    if (text === this.#onDisk) return;
    try {
      if (this.#onDisk === undefined) await fs.makeDirectory(dirname(path), FOLDER_MODE);
      await fs.writeAtomic(path, text, { mode: FILE_MODE });
      this.#onDisk = text;
    } catch (error) {
      this.#onDisk = undefined;
      this.#isChanged = true;
      throw error;
    }
  }
}
