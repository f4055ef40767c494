import { errorText } from '../../base/error-text.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { CheckpointError } from '../resources/resources-file.ts';
import { decodeMemory, encodeMemory } from './memory-checkpoint.ts';
import { EMPTY_STATE, type MemoryState } from './memory-state.ts';

/**
 * kubelet's `memory_manager_state`.
 *
 * 1. No other process writes the file while the agent runs: it is read once, at the start.
 * 2. It is written as a whole. At most one write is in flight; the next one contains all changes until it begins.
 * 3. A failed write rejects for all callers that wait for it; the next `flush` retries it.
 */
export class MemoryStateFile {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #policyName: string;
  #state: MemoryState;
  /** `undefined`: nothing, or not the whole state. */
  #onDisk: MemoryState | undefined;
  #current: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  private constructor(fs: FileSystem, path: string, policyName: string, onDisk: MemoryState | undefined) {
    this.#fs = fs;
    this.#path = path;
    this.#policyName = policyName;
    this.#onDisk = onDisk;
    this.#state = onDisk ?? EMPTY_STATE;
  }

  /** Rejects with a `CheckpointError` for a file that is corrupt or of another policy: kubelet does not start then either. */
  static async read(
    { fs, rootDir }: { readonly fs: FileSystem; readonly rootDir: string },
    policyName: string,
  ): Promise<MemoryStateFile> {
    const path = `${rootDir}/memory_manager_state`;
    const text = await readIfExists(path, fs);
    if (text === undefined) return new MemoryStateFile(fs, path, policyName, undefined);
    try {
      const { policyName: found, ...state } = decodeMemory(text);
      if (found !== policyName) {
        const policies = `configured policy "${policyName}" differs from state checkpoint policy "${found}"`;
        throw new Error(`[memorymanager] ${policies}`);
      }
      return new MemoryStateFile(fs, path, policyName, state);
    } catch (error) {
      const advice = `please drain this node and delete the memory manager checkpoint file "${path}"`;
      const message = `could not restore state from checkpoint: ${errorText(error)}, ${advice} before restarting Kubelet`;
      throw new CheckpointError(message, { cause: error });
    }
  }

  get state(): MemoryState {
    return this.#state;
  }

  set(state: MemoryState): void {
    this.#state = state;
  }

  /** Resolves when all changes made so far are on disk. */
  flush(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    if (this.#onDisk === this.#state) return this.#current;
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
    const state = this.#state;
    this.#onDisk = undefined;
    const text = encodeMemory({ policyName: this.#policyName, ...state });
    await this.#fs.writeAtomic(this.#path, text, { mode: 0o600 });
    this.#onDisk = state;
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
