import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { FileSystemError } from '../../file-system.ts';
import type { ProjectQuotas } from '../../project-quotas.ts';
import { errnoCode } from '../sys/errno-code.ts';

type QuotaCalls = typeof import('../sys/quota-calls.ts');

/** The kernel, the file system or the device has no project quotas; ENOSYS: the kernel is older than 5.14. */
const NOT_COUNTING: readonly (string | undefined)[] = ['ENOSYS', 'ESRCH', 'EOPNOTSUPP', 'ENOTTY', 'EINVAL', 'ENOTBLK'];

export const linuxProjectQuotas: ProjectQuotas = {
  isCounting: (directory) =>
    onDirectory('quotactl', directory, ({ countsProjects }, fd) =>
      unless(NOT_COUNTING, false, () => countsProjects(fd)),
    ),
  projectOf: (directory) =>
    onDirectory('projectOf', directory, ({ projectOf }, fd) =>
      unless(['ENOTTY', 'EOPNOTSUPP'], 0, () => projectOf(fd)),
    ),
  setProject: (directory, project) =>
    onDirectory('setProject', directory, ({ setProject }, fd) => setProject(fd, project)),
  usage: (directory, project) =>
    onDirectory('quotactl', directory, ({ projectUsage }, fd) => {
      const nothing = { bytes: 0n, inodes: 0n };
      const { bytes, inodes } = unless(['ENOENT'], nothing, () => projectUsage(fd, project));
      return { bytes: Number(bytes), inodes: Number(inodes) };
    }),
};

/** Makes calls of microseconds on an open directory. */
async function onDirectory<T>(call: string, directory: string, work: (calls: QuotaCalls, fd: number) => T): Promise<T> {
  // Loading the foreign function interface takes time, and most processes never need it.
  const calls = await import('../sys/quota-calls.ts');
  try {
    const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      return work(calls, handle.fd);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new FileSystemError(errnoCode(error) ?? 'EIO', call, directory, { cause: error });
  }
}

function unless<T>(codes: readonly (string | undefined)[], instead: T, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (codes.includes(errnoCode(error))) return instead;
    throw error;
  }
}
