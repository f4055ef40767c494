import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { podLogDirectory } from '../pod/pod-paths.ts';
import type { PodStep } from '../pod/pod-step.ts';

const SUFFIX = '.log';
/** Of a name in a folder, in bytes; names are ASCII here. */
const MAX_NAME = 255;

/** The name of a container's link: `web_default_main-0123….log`, cut where a file system could not take it. */
export function logLinkName(pod: Pod, container: string, id: string): string {
  return `${podFullName(pod)}_${container}-${id}`.slice(0, MAX_NAME - SUFFIX.length) + SUFFIX;
}

export interface LogLinksDeps {
  readonly fs: FileSystem;
  readonly settings: {
    readonly podLogsDir: string;
    /** Absent: nobody on this machine looks there. */
    readonly containerLogsDir?: string | undefined;
  };
}

/**
 * Links to the log files of containers in one flat folder, /var/log/containers: where log collectors look for them. The
 * folder has those of all pods, so it is not read for one of them: a link goes by its name with its container
 * (`remove-dead-container.ts`), and links whose container the runtime forgot are found on the whole node each minute
 * (`dead-log-links.ts`), as in kubelet.
 */
export class LogLinks implements PodStep {
  readonly name = 'log links';
  readonly #fs: FileSystem;
  readonly #settings: LogLinksDeps['settings'];

  constructor({ fs, settings }: LogLinksDeps) {
    this.#fs = fs;
    this.#settings = settings;
  }

  async prepare(): Promise<void> {
    const { containerLogsDir } = this.#settings;
    if (containerLogsDir !== undefined) await this.#fs.makeDirectory(containerLogsDir, 0o755);
  }

  /** A container has started; its log file is there. Again is fine. */
  async add(pod: Pod, container: string, id: string, logPath: string): Promise<void> {
    const { containerLogsDir, podLogsDir } = this.#settings;
    if (containerLogsDir === undefined) return;
    const link = `${containerLogsDir}/${logLinkName(pod, container, id)}`;
    await this.#fs.remove(link);
    await this.#fs.symbolicLink(`${podLogDirectory(podLogsDir, pod)}/${logPath}`, link);
  }

  async release(): Promise<void> {}
}
