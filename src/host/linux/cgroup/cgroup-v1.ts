import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { byCodePoint } from '../../../base/code-point-order.ts';
import type { CgroupValues } from '../../cgroups.ts';
import { type FileSystem, FileSystemError } from '../../file-system.ts';
import type { MountEntry } from '../../mounts.ts';
import { parseMountinfo } from '../proc/mountinfo.ts';
import { updateHugePages } from './cgroup-huge-pages.ts';
import type { CgroupLayout } from './cgroup-layout.ts';

/**
 * Version 1: each controller is mounted in a folder below `root`, some together in one folder with symbolic links; the named
 * hierarchy of systemd and a version 2 hierarchy without controllers (`unified`) may exist beside them. Container runtimes
 * put containers into all of these.
 */
export function cgroupV1(fs: FileSystem, root: string): CgroupLayout {
  const file = (controller: string, path: string, name: string): string => join(root, controller, path, name);
  const hierarchies = cgroupHierarchies(root, parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8')));
  return {
    version: 'v1',
    hierarchies,
    missing: async (path) => {
      const names = await missingFolders(fs, hierarchies.filter(isNeeded), path);
      return names.length === 0 ? undefined : { kind: 'paths', names };
    },
    create: (hierarchy, path) => create(fs, hierarchy, path),
    requireControllers: async () => {},
    kill: async () => false,
    update: async (path, values) => {
      await updateCpu(fs, (name) => file('cpu', path, name), values);
      if (values.memoryLimitBytes !== undefined) {
        await fs.writeFile(file('memory', path, 'memory.limit_in_bytes'), String(values.memoryLimitBytes));
      }
      if (values.pidsLimit !== undefined) {
        await fs.writeFile(file('pids', path, 'pids.max'), values.pidsLimit < 0 ? 'max' : String(values.pidsLimit));
      }
      const ofHugePages = (name: string): string => file('hugetlb', path, `${name}.limit_in_bytes`);
      await updateHugePages(fs, ofHugePages, values.hugePageLimits);
    },
  };
}

/** Other hierarchies may lack a cgroup. A folder of two controllers has both names. */
const NEEDED = ['cpu', 'cpuacct', 'cpuset', 'memory', 'systemd', 'pids', 'hugetlb'];

function isNeeded(hierarchy: string): boolean {
  return basename(hierarchy)
    .split(',')
    .some((controller) => NEEDED.includes(controller));
}

async function missingFolders(fs: FileSystem, hierarchies: readonly string[], path: string): Promise<string[]> {
  const folders = hierarchies.map((hierarchy) => join(hierarchy, path));
  const stats = await Promise.all(folders.map((folder) => fs.stat(folder)));
  return folders.filter((_, index) => stats[index] === undefined).sort(byCodePoint);
}

async function create(fs: FileSystem, hierarchy: string, path: string): Promise<void> {
  const isCpuset = (await fs.stat(join(hierarchy, 'cpuset.cpus'))) !== undefined;
  if (!isCpuset) return fs.makeDirectory(join(hierarchy, path));

  let folder = hierarchy;
  for (const name of path.split('/').filter(Boolean)) {
    const parent = folder;
    folder = join(folder, name);
    await fs.makeDirectory(folder);
    // A new cpuset is empty, and no process can join an empty one.
    for (const set of ['cpuset.cpus', 'cpuset.mems']) await inherit(fs, parent, folder, set);
  }
}

async function inherit(fs: FileSystem, parent: string, child: string, file: string): Promise<void> {
  const own = (await fs.stat(join(child, file))) && (await fs.readText(join(child, file))).trim();
  if (!own) await fs.writeFile(join(child, file), await fs.readText(join(parent, file)));
}

async function updateCpu(fs: FileSystem, file: (name: string) => string, values: CgroupValues): Promise<void> {
  const { cpuShares, cpuQuotaMicroseconds: quota, cpuPeriodMicroseconds: period } = values;
  if (cpuShares !== undefined) await fs.writeFile(file('cpu.shares'), String(cpuShares));

  const writePeriod = (): Promise<void> => fs.writeFile(file('cpu.cfs_period_us'), String(period));
  let isPeriodRejected = false;
  if (period !== undefined) {
    await writePeriod().catch((error: unknown) => {
      // The old quota with the new period may exceed the parent's; it is written again after the new quota.
      isPeriodRejected = quota !== undefined && error instanceof FileSystemError && error.code === 'EINVAL';
      if (!isPeriodRejected) throw error;
    });
  }
  if (quota !== undefined) await fs.writeFile(file('cpu.cfs_quota_us'), String(quota));
  if (isPeriodRejected) await writePeriod();
}

/**
 * The folders directly below `root` with a mounted cgroup hierarchy. The folder alone does not count: unmounting a hierarchy
 * leaves it, and a cgroup created in it would be a plain folder. `mounts`: oldest first.
 */
export function cgroupHierarchies(root: string, mounts: readonly MountEntry[]): readonly string[] {
  const below = mounts.filter(({ target }) => dirname(target) === root);
  const topmost = new Map(below.map(({ target, type }) => [target, type]));
  return [...topmost].flatMap(([target, type]) => (type === 'cgroup' || type === 'cgroup2' ? [target] : []));
}
