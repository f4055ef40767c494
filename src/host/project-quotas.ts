/**
 * Project quotas of file systems (ext4 and XFS with `prjquota`): the kernel counts what the files of a project use. The methods
 * take a directory, and reject with a `FileSystemError`.
 */
export interface ProjectQuotas {
  /** Whether the file system of the directory counts what projects use. */
  isCounting(directory: string): Promise<boolean>;
  /** The project of the directory; 0: none. */
  projectOf(directory: string): Promise<number>;
  /** Files that are made in the directory from now on belong to the project too, and their directories. */
  setProject(directory: string, project: number): Promise<void>;
  /** What all files of a project use on the file system of the directory, also those that are open and deleted. */
  usage(directory: string, project: number): Promise<ProjectUsage>;
}

export interface ProjectUsage {
  readonly bytes: number;
  readonly inodes: number;
}
