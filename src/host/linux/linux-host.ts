import type { Host } from '../host.ts';
import { createLinuxCgroups } from './linux-cgroups.ts';
import { linuxClock } from './linux-clock.ts';
import { linuxFileSystem } from './linux-file-system.ts';
import { linuxMounts } from './linux-mounts.ts';
import { linuxNetwork } from './linux-network.ts';
import { createLinuxProcesses } from './linux-processes.ts';
import { linuxRandom } from './linux-random.ts';

/** The machine that we run on. Cheap to make: what takes long to load is loaded at its first use. */
export function createLinuxHost(): Host {
  const [clock, fs] = [linuxClock, linuxFileSystem];
  return {
    clock,
    random: linuxRandom,
    fs,
    mounts: linuxMounts,
    processes: createLinuxProcesses({ clock }),
    cgroups: createLinuxCgroups({ fs, clock }),
    network: linuxNetwork,
  };
}
