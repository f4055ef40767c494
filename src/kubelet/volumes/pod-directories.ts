import type { Pod } from '../../api/generated/core-v1.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { podDirectory, podLogDirectory } from '../sync/config/pod-paths.ts';
import type { PodStep } from '../sync/pod-step.ts';
import { pluginsDirectory, volumesDirectory } from './volume-paths.ts';

export interface PodDirectoriesDeps {
  readonly fs: FileSystem;
  readonly settings: { readonly rootDir: string; readonly podLogsDir: string };
}

/**
 * The folders of a pod: its own below the root, and that of its logs. Made first, removed last: a pod that has ended
 * still shows its logs and termination messages.
 */
export class PodDirectories implements PodStep {
  readonly name = 'directories';
  readonly #fs: FileSystem;
  readonly #settings: PodDirectoriesDeps['settings'];

  constructor({ fs, settings }: PodDirectoriesDeps) {
    this.#fs = fs;
    this.#settings = settings;
  }

  async prepare(pod: Pod, _signal: AbortSignal): Promise<void> {
    const { rootDir, podLogsDir } = this.#settings;
    const { uid } = pod.metadata;
    await this.#fs.makeDirectory(`${rootDir}/pods`, 0o750);
    await this.#fs.makeDirectory(podDirectory(rootDir, uid), 0o750);
    await this.#fs.makeDirectory(volumesDirectory(rootDir, uid), 0o750);
    await this.#fs.makeDirectory(pluginsDirectory(rootDir, uid), 0o750);
    await this.#fs.makeDirectory(podLogDirectory(podLogsDir, pod), 0o755);
  }

  async release(): Promise<void> {}

  async purge(pod: Pod, _signal: AbortSignal): Promise<void> {
    await this.purgeByUid(pod.metadata.uid);
  }

  /**
   * For a pod of which nothing else is known; its logs are found by the UID at the end of their folder. Rejects while
   * something is still mounted below: nothing is removed through a mount.
   */
  async purgeByUid(uid: string): Promise<void> {
    const { rootDir, podLogsDir } = this.#settings;
    await this.#fs.removeTree(podDirectory(rootDir, uid));
    if (!(await this.#fs.stat(podLogsDir))) return;
    for (const { name } of await this.#fs.readDirectory(podLogsDir)) {
      if (name.endsWith(`_${uid}`)) await this.#fs.removeTree(`${podLogsDir}/${name}`);
    }
  }

  /** UIDs of the pods that have a folder, from this run or an earlier one. */
  async existing(): Promise<readonly string[]> {
    const pods = `${this.#settings.rootDir}/pods`;
    if (!(await this.#fs.stat(pods))) return [];
    return (await this.#fs.readDirectory(pods))
      .filter(({ kind, name }) => kind === 'directory' && !name.startsWith('.'))
      .map(({ name }) => name);
  }
}
