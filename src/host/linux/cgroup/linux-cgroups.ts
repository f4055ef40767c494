import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { byCodePoint } from '../../../base/code-point-order.ts';
import { CgroupBusyError, type Cgroups } from '../../cgroups.ts';
import type { Clock } from '../../clock.ts';
import type { FileSystem } from '../../file-system.ts';
import { childCgroups, processesBelow, processesIn, removeBelow } from './cgroup-tree.ts';
import { cgroupV1 } from './cgroup-v1.ts';
import { cgroupV2 } from './cgroup-v2.ts';

export interface LinuxCgroupsDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  /** The mount point of the cgroup filesystems. */
  readonly root?: string;
}

/** Control groups of the machine. The version is detected by a file that only the root of a version 2 tree has. */
export function createLinuxCgroups({ fs, clock, root = '/sys/fs/cgroup' }: LinuxCgroupsDeps): Cgroups {
  const isV2 = existsSync(join(root, 'cgroup.controllers'));
  const layout = isV2 ? cgroupV2(fs, root) : cgroupV1(fs, root);
  /** The hierarchies are independent, so they are handled concurrently. */
  const inEach = <T>(work: (hierarchy: string) => Promise<T>): Promise<T[]> =>
    Promise.all(layout.hierarchies.map(work));

  async function processes(path: string): Promise<readonly number[]> {
    const pids = await inEach((hierarchy) => processesBelow(fs, join(hierarchy, path)));
    return [...new Set(pids.flat())].sort((a, b) => a - b);
  }

  return {
    version: layout.version,
    create: async (path) => {
      await inEach((hierarchy) => layout.create(hierarchy, path));
    },
    requireControllers: layout.requireControllers,
    update: layout.update,
    kill: layout.kill,
    exists: async (path) => {
      const found = await inEach((hierarchy) => fs.stat(join(hierarchy, path)));
      return found.some((stat) => stat !== undefined);
    },
    missing: layout.missing,
    ownProcesses: async (path) => {
      const pids = await inEach((hierarchy) => processesIn(fs, join(hierarchy, path)));
      return [...new Set(pids.flat())].sort((a, b) => a - b);
    },
    addProcess: async (path, pid) => {
      await inEach((hierarchy) => fs.writeFile(join(hierarchy, path, 'cgroup.procs'), String(pid)));
    },
    children: async (path) => {
      const names = await inEach((hierarchy) => childCgroups(fs, join(hierarchy, path)));
      return [...new Set(names.flat())].sort(byCodePoint);
    },
    processes,
    remove: async (path) => {
      // Checked first, so that a busy cgroup is not removed from some hierarchies only.
      const pids = await processes(path);
      if (pids.length > 0) throw new CgroupBusyError(path, pids);
      await inEach((hierarchy) => removeBelow(fs, clock, join(hierarchy, path)));
    },
  };
}
