import { join } from 'node:path/posix';
import { errorText } from '../../base/error-text.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { CheckpointFile } from '../checkpoint/checkpoint-file.ts';
import { type ContainerOwner, decodeCpuCheckpoint, encodeCpuState, stateOf } from './cpu-checkpoint.ts';
import { type CpuState, EMPTY_STATE } from './cpu-state.ts';
import { CpuManagerError } from './policy-options.ts';

export const CPU_STATE_FILE = 'cpu_manager_state';

/** kubelet's checkpoint file of the CPU manager. */
export class CpuStateFile {
  readonly #file: CheckpointFile;
  readonly #policy: string;
  #state: CpuState = EMPTY_STATE;

  constructor({ fs, rootDir, policy }: { fs: FileSystem; rootDir: string; policy: string }) {
    this.#policy = policy;
    const text = (): string => encodeCpuState(this.#policy, this.#state);
    this.#file = new CheckpointFile({ fs, path: join(rootDir, CPU_STATE_FILE), text });
  }

  /** A missing file is empty. Rejects with a `CpuManagerError` for a file of another policy or with wrong content. */
  async read(listOwners: () => Promise<ReadonlyMap<string, ContainerOwner>>): Promise<CpuState> {
    const text = await this.#file.read();
    if (text === undefined) return EMPTY_STATE;
    try {
      const checkpoint = decodeCpuCheckpoint(text);
      const isOld = checkpoint.version === 1 && checkpoint.cpusById.size > 0;
      const owners = isOld ? await listOwners() : new Map<string, ContainerOwner>();
      return stateOf(checkpoint, this.#policy, (id) => owners.get(id));
    } catch (error) {
      const advice = `please drain this node and delete the CPU manager checkpoint file ${goQuote(this.#file.path)}`;
      const message = `could not restore state from checkpoint: ${errorText(error)}, ${advice} before restarting Kubelet`;
      throw new CpuManagerError(message, { cause: error });
    }
  }

  /** Resolves when the state is on disk. */
  write(state: CpuState): Promise<void> {
    this.#state = state;
    this.#file.markChanged();
    return this.#file.save();
  }
}
