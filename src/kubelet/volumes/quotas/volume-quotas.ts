import type { Pod } from '../../../api/generated/core-v1.ts';
import { KeyedMutex } from '../../../base/keyed-mutex.ts';
import type { Log } from '../../../base/log.ts';
import { type FileSystem, FileSystemError } from '../../../host/file-system.ts';
import type { ProjectQuotas, ProjectUsage } from '../../../host/project-quotas.ts';
import {
  FIRST_PROJECT,
  namedProjects,
  type ProjectFiles,
  projectIn,
  withoutProject,
  withProject,
} from './project-files.ts';

const PROJECTS = '/etc/projects';
const PROJID = '/etc/projid';
/** kubelet's limit. */
const MAX_SEARCHED = 128;

export interface VolumeQuotasDeps {
  readonly quotas: ProjectQuotas;
  readonly fs: Pick<FileSystem, 'readText' | 'writeAtomic' | 'lstat'>;
  readonly log: Log;
}

/**
 * Has the kernel count what volumes use, where their file system does: no walk through their files is needed then, and files
 * count that are open and deleted. kubelet's LocalStorageCapacityIsolationFSQuotaMonitoring.
 *
 * 1. Only volumes of pods in a user namespace: others could give their files to another project.
 * 2. The project of a volume is the one that its directory has and that `/etc/projects` names for it, in kubelet's lines: no
 *    state is kept in memory, kubelet takes it over, and a container cannot name another.
 * 3. Nothing is limited. A volume without a project is measured by its files; errors of quotas are logged, and never those of
 *    the pod.
 */
export class VolumeQuotas {
  readonly #deps: VolumeQuotasDeps;
  /** One change of the files at a time. */
  readonly #files = new KeyedMutex();

  constructor(deps: VolumeQuotasDeps) {
    this.#deps = deps;
  }

  /** Gives a new, empty directory of a volume a project. */
  async assign(pod: Pod, directory: string): Promise<void> {
    const { quotas, log } = this.#deps;
    if (pod.spec.hostUsers !== false) return;
    try {
      if (!(await quotas.isCounting(directory)) || (await this.#projectOf(directory)) !== undefined) return;
      await this.#files.run(PROJECTS, () => this.#assignFree(directory));
    } catch (error) {
      log.warn('cannot count what a volume uses by a quota: its files are measured', { directory, error });
    }
  }

  /** What the volume uses; `undefined`: it is not counted. */
  async usage(directory: string): Promise<ProjectUsage | undefined> {
    const { quotas } = this.#deps;
    const project = await this.#projectOf(directory);
    if (project === undefined || !(await quotas.isCounting(directory))) return undefined;
    return quotas.usage(directory, project);
  }

  /** Called before the directory is removed. */
  async clear(directory: string): Promise<void> {
    const { log } = this.#deps;
    try {
      await this.#files.run(PROJECTS, async () => {
        const files = await this.#readFiles();
        const left = withoutProject(files, directory);
        if (left !== files) await this.#writeFiles(left);
      });
    } catch (error) {
      log.warn('cannot remove the project of a volume', { directory, error });
    }
  }

  /** The project that the files name for the directory, if it is the one that the directory has. */
  async #projectOf(directory: string): Promise<number | undefined> {
    const named = projectIn(await this.#readFiles(), directory);
    return named !== undefined && named === (await this.#deps.quotas.projectOf(directory)) ? named : undefined;
  }

  async #assignFree(directory: string): Promise<void> {
    const { quotas } = this.#deps;
    // A line for this directory is of an earlier volume of the same path.
    const files = withoutProject(await this.#readFiles(), directory);
    const project = await this.#freeProject(directory, namedProjects(files));
    await this.#writeFiles(withProject(files, directory, project));
    await quotas.setProject(directory, project);
  }

  async #freeProject(directory: string, named: ReadonlySet<number>): Promise<number> {
    let searched = 0;
    for (let id = FIRST_PROJECT; searched <= MAX_SEARCHED; id++) {
      if (named.has(id)) continue;
      const { bytes, inodes } = await this.#deps.quotas.usage(directory, id);
      if (bytes === 0 && inodes === 0) return id;
      searched++;
    }
    throw new Error('cannot find available quota ID');
  }

  async #readFiles(): Promise<ProjectFiles> {
    const [projects, projid] = await Promise.all([this.#read(PROJECTS), this.#read(PROJID)]);
    return { projects, projid };
  }

  async #read(path: string): Promise<string> {
    const { fs } = this.#deps;
    const found = await fs.lstat(path);
    if (found && found.kind !== 'file') throw new Error(`${path} exists but is not a plain file, cannot continue`);
    return fs.readText(path).catch((error: unknown) => {
      if (error instanceof FileSystemError && error.code === 'ENOENT') return '';
      throw error;
    });
  }

  /** Names first: a project without a directory is harmless. */
  async #writeFiles({ projects, projid }: ProjectFiles): Promise<void> {
    await this.#deps.fs.writeAtomic(PROJID, projid, { mode: 0o644 });
    await this.#deps.fs.writeAtomic(PROJECTS, projects, { mode: 0o644 });
  }
}
