import type { Cgroups } from '../../host/cgroups.ts';
import type { Clock } from '../../host/clock.ts';
import { type CgroupMessage, cgroupChannel } from './cgroup-channel.ts';

/** The same cgroups; what changes them is published with its duration. */
export function measuredCgroups(cgroups: Cgroups, clock: Pick<Clock, 'monotonic'>): Cgroups {
  const measure = async <T>(operation: CgroupMessage['operation'], work: () => Promise<T>): Promise<T> => {
    const beganMs = clock.monotonic();
    try {
      return await work();
    } finally {
      cgroupChannel.publish({ operation, tookMs: clock.monotonic() - beganMs });
    }
  };
  return {
    version: cgroups.version,
    create: (path) => measure('create', () => cgroups.create(path)),
    update: (path, values) => measure('update', () => cgroups.update(path, values)),
    remove: (path) => measure('destroy', () => cgroups.remove(path)),
    requireControllers: (path, controllers) => cgroups.requireControllers(path, controllers),
    exists: (path) => cgroups.exists(path),
    missing: (path) => cgroups.missing(path),
    children: (path) => cgroups.children(path),
    processes: (path) => cgroups.processes(path),
    ownProcesses: (path) => cgroups.ownProcesses(path),
    addProcess: (path, pid) => cgroups.addProcess(path, pid),
    kill: (path) => cgroups.kill(path),
  };
}
