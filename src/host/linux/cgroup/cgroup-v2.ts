import { join } from 'node:path';
import { type CgroupValues, cpuWeight } from '../../cgroups.ts';
import type { FileSystem } from '../../file-system.ts';
import { updateHugePages } from './cgroup-huge-pages.ts';
import type { CgroupLayout } from './cgroup-layout.ts';

/** Version 2: one tree for all controllers, mounted at `root`. */
export function cgroupV2(fs: FileSystem, root: string): CgroupLayout {
  return {
    version: 'v2',
    hierarchies: [root],
    create: (_, path) => create(fs, root, path),
    update: (path, values) => update(fs, join(root, path), values),
  };
}

async function create(fs: FileSystem, root: string, path: string): Promise<void> {
  const controllers = (await fs.readText(join(root, 'cgroup.controllers'))).split(/\s+/).filter(Boolean);
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
  } catch {
    // One unavailable controller (`cpu` with real-time processes) fails the whole write. A missing one fails later, at its files.
    for (const controller of missing) await fs.writeFile(file, controller).catch(() => {});
  }
}

async function update(fs: FileSystem, folder: string, values: CgroupValues): Promise<void> {
  const { cpuShares, cpuQuotaMicroseconds: quota, cpuPeriodMicroseconds: period } = values;
  const { memoryLimitBytes, memoryMinBytes, memoryLowBytes, pidsLimit } = values;
  const write = (file: string, value: string): Promise<void> => fs.writeFile(join(folder, file), value);

  if (cpuShares !== undefined) await write('cpu.weight', String(cpuWeight(cpuShares)));
  if (quota !== undefined || period !== undefined) {
    const [oldQuota = 'max', oldPeriod = '100000'] = (await fs.readText(join(folder, 'cpu.max'))).trim().split(' ');
    await write('cpu.max', `${quota === undefined ? oldQuota : limit(quota)} ${period ?? oldPeriod}`);
  }
  if (memoryLimitBytes !== undefined) await write('memory.max', limit(memoryLimitBytes));
  if (memoryMinBytes !== undefined) await write('memory.min', limit(memoryMinBytes));
  if (memoryLowBytes !== undefined) await write('memory.low', limit(memoryLowBytes));
  if (pidsLimit !== undefined) await write('pids.max', limit(pidsLimit));
  await updateHugePages(fs, (name) => join(folder, `${name}.max`), values.hugePageLimits);
}

/** A negative value means unlimited in Kubernetes. */
function limit(value: number): string {
  return value < 0 ? 'max' : String(value);
}
