import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { PodError } from '../pod/pod-error.ts';
import { podDirectory, podLogDirectory } from '../pod/pod-paths.ts';
import type { PodStep } from '../pod/pod-step.ts';
import { pluginsDirectory, volumesDirectory } from './volume-paths.ts';

export interface PodDirectoriesDeps {
  readonly fs: FileSystem;
  readonly settings: { readonly rootDir: string; readonly podLogsDir: string };
}

/** `namespace_name_uid` */
const LOG_FOLDER = /^[^_]+_[^_]+_([^_]+)$/;

/**
 * The directories of a pod: its own below the root directory, and its log directory. They are created first and removed
 * last, because an ended pod still shows its logs and termination messages.
 */
export class PodDirectories implements PodStep {
  readonly name = 'directories';
  readonly #fs: FileSystem;
  readonly #settings: PodDirectoriesDeps['settings'];
  /** Names of log directories by pod UID, as `existing` last read them. */
  #logFolders: ReadonlyMap<string | undefined, readonly string[]> = new Map();

  constructor({ fs, settings }: PodDirectoriesDeps) {
    this.#fs = fs;
    this.#settings = settings;
  }

  async prepare(pod: Pod, _signal: AbortSignal): Promise<void> {
    const { rootDir, podLogsDir } = this.#settings;
    const { uid } = pod.metadata;
    const own = [podDirectory(rootDir, uid), volumesDirectory(rootDir, uid), pluginsDirectory(rootDir, uid)];
    await dataDirectories(async () => {
      for (const path of [`${rootDir}/pods`, ...own]) await this.#fs.makeDirectory(path, 0o750);
    });
    await logDirectory(() => this.#fs.makeDirectory(podLogDirectory(podLogsDir, pod), 0o755));
  }

  async release(): Promise<void> {}

  /**
   * Removes the log directories that `existing` last found for the UID, because listing all log directories for one pod
   * is too expensive. Rejects while something is mounted below: nothing is removed through a mount.
   */
  async purge(pod: Pod, _signal: AbortSignal): Promise<void> {
    const { rootDir, podLogsDir } = this.#settings;
    const { uid, name } = pod.metadata;
    const folder = podDirectory(rootDir, uid);
    const ofLogs = new Set(this.#logFolders.get(uid)?.map((each) => `${podLogsDir}/${each}`));
    if (name !== '') ofLogs.add(podLogDirectory(podLogsDir, pod));
    for (const path of ofLogs) await this.#fs.removeTree(path);
    await this.#fs.removeTree(folder);
  }

  /** UIDs of all pods that have a directory or logs, from this process or a previous one. */
  async existing(): Promise<readonly string[]> {
    const { rootDir, podLogsDir } = this.#settings;
    const own = (await this.#foldersIn(`${rootDir}/pods`)).filter((name) => !name.startsWith('.'));
    this.#logFolders = Map.groupBy(await this.#foldersIn(podLogsDir), (name) => LOG_FOLDER.exec(name)?.[1]);
    const ofLogs = [...this.#logFolders.keys()].filter((uid) => uid !== undefined);
    return [...new Set([...own, ...ofLogs])];
  }

  async #foldersIn(path: string): Promise<readonly string[]> {
    if (!(await this.#fs.stat(path))) return [];
    const entries = await this.#fs.readDirectory(path);
    return entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name);
  }
}

async function dataDirectories(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const text = errorText(cause);
    const eventMessage = `error making pod data directories: ${text}`;
    throw new PodError('FailedToMakePodDataDirectories', text, { cause, eventMessage });
  }
}

/** kubelet makes it when it creates the sandbox. */
async function logDirectory(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const text = errorText(cause);
    throw new PodError('CreatePodSandboxError', text, { cause, eventMessage: `Failed to create pod sandbox: ${text}` });
  }
}
