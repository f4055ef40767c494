import { dirname, join } from 'node:path/posix';
import { errorText } from '../../base/error-text.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { type ContainerOwner, decodeCpuCheckpoint, encodeCpuState, stateOf } from './cpu-checkpoint.ts';
import { type CpuState, EMPTY_STATE } from './cpu-state.ts';
import { CpuManagerError } from './policy-options.ts';

export const CPU_STATE_FILE = 'cpu_manager_state';

/** kubelet's checkpoint file of the CPU manager. No other process writes it while the agent runs. */
export class CpuStateFile {
  readonly #fs: FileSystem;
  readonly #path: string;
  readonly #policy: string;
  #onDisk: string | undefined;

  constructor({ fs, rootDir, policy }: { fs: FileSystem; rootDir: string; policy: string }) {
    this.#fs = fs;
    this.#path = join(rootDir, CPU_STATE_FILE);
    this.#policy = policy;
  }

  /** A missing file is empty. Rejects with a `CpuManagerError` for a file of another policy or with wrong content. */
  async read(listOwners: () => Promise<ReadonlyMap<string, ContainerOwner>>): Promise<CpuState> {
    const text = await readIfExists(this.#path, this.#fs);
    if (text === undefined) return EMPTY_STATE;
    this.#onDisk = text;
    try {
      const checkpoint = decodeCpuCheckpoint(text);
      const isOld = checkpoint.version === 1 && checkpoint.cpusById.size > 0;
      const owners = isOld ? await listOwners() : new Map<string, ContainerOwner>();
      return stateOf(checkpoint, this.#policy, (id) => owners.get(id));
    } catch (error) {
      const advice = `please drain this node and delete the CPU manager checkpoint file ${goQuote(this.#path)}`;
      const message = `could not restore state from checkpoint: ${errorText(error)}, ${advice} before restarting Kubelet`;
      throw new CpuManagerError(message, { cause: error });
    }
  }

  /** Resolves when the state is on disk. */
  async write(state: CpuState): Promise<void> {
    const text = encodeCpuState(this.#policy, state);
    if (text === this.#onDisk) return;
    if (this.#onDisk === undefined) await this.#fs.makeDirectory(dirname(this.#path));
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
