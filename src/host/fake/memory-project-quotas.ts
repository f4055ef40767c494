import { type FileSystem, FileSystemError } from '../file-system.ts';
import type { ProjectQuotas, ProjectUsage } from '../project-quotas.ts';

const NO_SIGNAL = new AbortController().signal;

/** Project quotas on the directories that `countBelow` names; on others there are none. */
export class MemoryProjectQuotas implements ProjectQuotas {
  readonly #fs: Pick<FileSystem, 'lstat' | 'treeUsage'>;
  readonly #projects = new Map<string, number>();
  readonly #counting: string[] = [];

  constructor(fs: Pick<FileSystem, 'lstat' | 'treeUsage'>) {
    this.#fs = fs;
  }

  countBelow(directory: string): void {
    this.#counting.push(directory);
  }

  async isCounting(directory: string): Promise<boolean> {
    return this.#counting.some((root) => directory === root || directory.startsWith(`${root}/`));
  }

  async projectOf(directory: string): Promise<number> {
    return (await this.#fs.lstat(directory)) ? (this.#projects.get(directory) ?? 0) : 0;
  }

  async setProject(directory: string, project: number): Promise<void> {
    if (!(await this.#fs.lstat(directory))) throw new FileSystemError('ENOENT', 'setProject', directory);
    this.#projects.set(directory, project);
  }

  async usage(_directory: string, project: number): Promise<ProjectUsage> {
    const roots = [...this.#projects].filter(([, id]) => id === project).map(([root]) => root);
    const present = await Promise.all(roots.map(async (root) => ((await this.#fs.lstat(root)) ? [root] : [])));
    const usages = await Promise.all(present.flat().map((root) => this.#fs.treeUsage(root, NO_SIGNAL)));
    return usages.reduce((sum, { bytes, inodes }) => ({ bytes: sum.bytes + bytes, inodes: sum.inodes + inodes }), {
      bytes: 0,
      inodes: 0,
    });
  }
}
