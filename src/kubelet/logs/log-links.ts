import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { podLogDirectory } from '../pod/pod-paths.ts';
import type { PodStep } from '../pod/pod-step.ts';

const SUFFIX = '.log';
/** Maximum length of a file name in bytes; these names are ASCII. */
const MAX_NAME = 255;

/** The link name of a container: `web_default_main-0123….log`, truncated to the file name limit. */
export function logLinkName(pod: Pod, container: string, id: string): string {
  return `${podFullName(pod)}_${container}-${id}`.slice(0, MAX_NAME - SUFFIX.length) + SUFFIX;
}

export interface LogLinksDeps {
  readonly fs: FileSystem;
  readonly settings: {
    readonly podLogsDir: string;
    /** Absent: no links are created. */
    readonly containerLogsDir?: string | undefined;
  };
}

/**
 * Links to container logs in one flat directory, /var/log/containers, where log collectors find them. The directory is
 * not listed per pod: a link is removed by name with its container (`remove-dead-container.ts`), and dangling links are
 * collected each minute (`container-collector.ts`), as in kubelet.
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

  /** Links the log of a started container. Idempotent. */
  async add(pod: Pod, container: string, id: string, logPath: string): Promise<void> {
    const { containerLogsDir, podLogsDir } = this.#settings;
    if (containerLogsDir === undefined) return;
    const link = `${containerLogsDir}/${logLinkName(pod, container, id)}`;
    await this.#fs.remove(link);
    await this.#fs.symbolicLink(`${podLogDirectory(podLogsDir, pod)}/${logPath}`, link);
  }

  async release(): Promise<void> {}
}
