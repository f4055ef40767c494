import { posix } from 'node:path';
import { CgroupBusyError, type Cgroups } from '../../host/cgroups.ts';
import type { Systemd } from '../../host/systemd.ts';
import { resourceProperties, roundQuota } from './systemd-properties.ts';

export interface SystemdCgroupsDeps {
  readonly systemd: Systemd;
  /** The machine's cgroups. */
  readonly cgroups: Cgroups;
}

/**
 * Control groups of the systemd driver: each is a slice, whose name is the last part of its path. Values are set as
 * properties of the unit, so that systemd does not revert them, and written to the cgroup's files, because systemd has no
 * property for some and rounds others.
 */
export function createSystemdCgroups({ systemd, cgroups }: SystemdCgroupsDeps): Cgroups {
  return {
    version: cgroups.version,
    async create(path) {
      const unit = sliceName(path);
      // systemd starts the parents, as the unit's name contains theirs.
      const parent = posix.dirname(path) === '/' ? '-.slice' : sliceName(posix.dirname(path));
      await systemd.startTransientUnit(unit, {
        Description: `libcontainer container ${unit}`,
        Wants: [parent],
        DefaultDependencies: false,
        CPUAccounting: true,
        MemoryAccounting: true,
        IOAccounting: true,
        TasksAccounting: true,
      });
      // Enables the controllers that systemd left out (hugetlb, cpuset).
      await cgroups.create(path);
    },
    async update(path, values) {
      const rounded = roundQuota(values);
      await systemd.setUnitProperties(sliceName(path), resourceProperties(rounded, cgroups.version));
      await cgroups.update(path, rounded);
    },
    requireControllers: (path, controllers) => cgroups.requireControllers(path, controllers),
    kill: (path) => cgroups.kill(path),
    exists: (path) => cgroups.exists(path),
    missing: (path) => cgroups.missing(path),
    ownProcesses: (path) => cgroups.ownProcesses(path),
    addProcess: (path, pid) => cgroups.addProcess(path, pid),
    children: (path) => cgroups.children(path),
    processes: (path) => cgroups.processes(path),
    async remove(path) {
      // Stopping a slice stops what runs in it: the caller decides that.
      const pids = await cgroups.processes(path);
      if (pids.length > 0) throw new CgroupBusyError(path, pids);
      await systemd.stopUnit(sliceName(path));
      await cgroups.remove(path);
    },
  };
}

/** The unit of a cgroup. */
function sliceName(path: string): string {
  const name = posix.basename(path);
  if (!/^[a-zA-Z0-9:_.-]+\.slice$/.test(name)) {
    throw new Error(`cgroup ${path} cannot be managed by systemd: ${name} is not the name of a slice`);
  }
  return name;
}
