import { join } from 'node:path';
import { type CgroupValues, cpuWeight, type MissingCgroup } from '../../cgroups.ts';
import { type FileSystem, FileSystemError } from '../../file-system.ts';
import { updateHugePages } from './cgroup-huge-pages.ts';
import type { CgroupLayout } from './cgroup-layout.ts';
import { explainV2Error, requireControllersV2, requireDomain, type V2Cgroup } from './cgroup-v2-errors.ts';

/** Version 2: one tree for all controllers, mounted at `root`. */
export function cgroupV2(fs: FileSystem, root: string): CgroupLayout {
  return {
    version: 'v2',
    hierarchies: [root],
    create: async (_, path) => {
      const cgroup = { fs, root, path };
      try {
        await create(fs, root, path);
      } catch (error) {
        throw await explainV2Error(cgroup, error);
      }
      await requireDomain(cgroup);
    },
    requireControllers: (path, controllers) => requireControllersV2({ fs, root, path }, controllers),
    update: (path, values) => update({ fs, root, path }, values),
    missing: (path) => missing({ fs, root, path }),
    kill: (path) => kill(fs, join(root, path, 'cgroup.kill')),
  };
}

/** The controllers that kubelet uses. */
const NEEDED = ['cpu', 'cpuset', 'hugetlb', 'memory', 'pids'];

async function missing({ fs, root, path }: V2Cgroup): Promise<MissingCgroup | undefined> {
  const file = join(root, path, 'cgroup.controllers');
  if ((await fs.stat(file)) === undefined) return { kind: 'unreadable', file };
  const [offered, own] = await Promise.all([readControllers(fs, root), readControllers(fs, join(root, path))]);
  const names = NEEDED.filter((controller) => offered.includes(controller) && !own.includes(controller));
  return names.length === 0 ? undefined : { kind: 'controllers', names };
}

async function readControllers(fs: FileSystem, folder: string): Promise<readonly string[]> {
  return (await fs.readText(join(folder, 'cgroup.controllers'))).split(/\s+/).filter(Boolean);
}

async function create(fs: FileSystem, root: string, path: string): Promise<void> {
  const controllers = await readControllers(fs, root);
  let folder = root;
  for (const name of path.split('/').filter(Boolean)) {
    // Only in the ancestors of the new cgroup: a cgroup with enabled subtree controllers may have no processes.
    await enable(fs, folder, controllers);
    folder = join(folder, name);
    await fs.makeDirectory(folder);
  }
}

async function enable(fs: FileSystem, folder: string, controllers: readonly string[]): Promise<void> {
  const file = join(folder, 'cgroup.subtree_control');
  const enabled = (await fs.stat(file)) === undefined ? [] : (await fs.readText(file)).split(/\s+/);
  const missing = controllers.filter((controller) => !enabled.includes(controller)).map((name) => `+${name}`);
  if (missing.length === 0) return;
  try {
    await fs.writeFile(file, missing.join(' '));
  } catch (error) {
    // Controllers for threads could be enabled one by one, but then containers could not enter the cgroups below.
    if (error instanceof FileSystemError && error.code === 'EBUSY') return;
    // One unavailable controller (`cpu` with real-time processes) fails the whole write. A missing one fails later, at its files.
    for (const controller of missing) await fs.writeFile(file, controller).catch(() => {});
  }
}

async function update(cgroup: V2Cgroup, values: CgroupValues): Promise<void> {
  const { fs } = cgroup;
  const folder = join(cgroup.root, cgroup.path);
  const { cpuShares, cpuQuotaMicroseconds: quota, cpuPeriodMicroseconds: period } = values;
  const { memoryLimitBytes, memoryMinBytes, memoryLowBytes, pidsLimit } = values;
  const explained = async <T>(file: string, work: Promise<T>): Promise<T> =>
    work.catch(async (error: unknown) => {
      throw await explainV2Error(cgroup, error, file);
    });
  const write = (file: string, value: string): Promise<void> =>
    explained(file, fs.writeFile(join(folder, file), value));

  if (cpuShares !== undefined) await write('cpu.weight', String(cpuWeight(cpuShares)));
  if (quota !== undefined || period !== undefined) {
    const before = await explained('cpu.max', fs.readText(join(folder, 'cpu.max')));
    const [oldQuota = 'max', oldPeriod = '100000'] = before.trim().split(' ');
    await write('cpu.max', `${quota === undefined ? oldQuota : limit(quota)} ${period ?? oldPeriod}`);
  }
  if (memoryLimitBytes !== undefined) await write('memory.max', limit(memoryLimitBytes));
  if (memoryMinBytes !== undefined) await write('memory.min', limit(memoryMinBytes));
  if (memoryLowBytes !== undefined) await write('memory.low', limit(memoryLowBytes));
  if (pidsLimit !== undefined) await write('pids.max', limit(pidsLimit));
  await updateHugePages(fs, (name) => join(folder, `${name}.max`), values.hugePageLimits);
}

/** The file exists since Linux 5.14, in all cgroups but the root. */
async function kill(fs: FileSystem, file: string): Promise<boolean> {
  if ((await fs.stat(file)) === undefined) return false;
  try {
    await fs.writeFile(file, '1');
    return true;
  } catch (error) {
    // EOPNOTSUPP: a threaded cgroup; ENOENT, ENODEV: it was removed meanwhile.
    if (error instanceof FileSystemError && ['EOPNOTSUPP', 'ENOENT', 'ENODEV'].includes(error.code)) return false;
    throw error;
  }
}

/** A negative value means unlimited in Kubernetes. */
function limit(value: number): string {
  return value < 0 ? 'max' : String(value);
}
