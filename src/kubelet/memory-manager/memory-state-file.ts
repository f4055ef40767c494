import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { CheckpointError, CheckpointFile } from '../checkpoint/checkpoint-file.ts';
import { decodeMemory, encodeMemory } from './memory-checkpoint.ts';
import { EMPTY_STATE, type MemoryState } from './memory-state.ts';

/** kubelet's `memory_manager_state`. */
export class MemoryStateFile {
  readonly #file: CheckpointFile;
  readonly #policyName: string;
  #state: MemoryState = EMPTY_STATE;

  private constructor(fs: FileSystem, path: string, policyName: string) {
    this.#policyName = policyName;
    const text = (): string => encodeMemory({ policyName: this.#policyName, ...this.#state });
    this.#file = new CheckpointFile({ fs, path, text });
  }

  /** Rejects with a `CheckpointError` for a file that is corrupt or of another policy: kubelet does not start then either. */
  static async read(
    { fs, rootDir }: { readonly fs: FileSystem; readonly rootDir: string },
    policyName: string,
  ): Promise<MemoryStateFile> {
    const path = `${rootDir}/memory_manager_state`;
    const memory = new MemoryStateFile(fs, path, policyName);
    const text = await memory.#file.read();
    try {
      memory.set(text === undefined ? EMPTY_STATE : decodeOfPolicy(text, policyName));
      return memory;
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
    this.#file.markChanged();
  }

  /** Resolves when all changes made so far are on disk. */
  flush(): Promise<void> {
    return this.#file.save();
  }
}

function decodeOfPolicy(text: string, policyName: string): MemoryState {
  const { policyName: found, ...state } = decodeMemory(text);
  if (found === policyName) return state;
  const policies = `configured policy "${policyName}" differs from state checkpoint policy "${found}"`;
  throw new Error(`[memorymanager] ${policies}`);
}
