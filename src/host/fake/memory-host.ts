import type { Host } from '../host.ts';
import { MemoryCgroups } from './memory-cgroups.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { MemoryMounts } from './memory-mounts.ts';
import { MemoryNetwork } from './memory-network.ts';
import { MemoryProcesses } from './memory-processes.ts';
import { SeededRandom } from './seeded-random.ts';
import { VirtualClock } from './virtual-clock.ts';

/** A machine in memory, with what a test needs to look into it and to disturb it. */
export interface MemoryHost extends Host {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly fs: MemoryFileSystem;
  readonly mounts: MemoryMounts;
  readonly processes: MemoryProcesses;
  readonly cgroups: MemoryCgroups;
  readonly network: MemoryNetwork;
}

export interface MemoryHostOptions {
  readonly seed?: number;
  /** Wall-clock time at the start. */
  readonly startMs?: number;
  readonly cgroupVersion?: 'v1' | 'v2';
}

/** A new machine: nothing on it, nothing running. The same seed makes the same machine. */
export function createMemoryHost({ seed = 1, startMs, cgroupVersion }: MemoryHostOptions = {}): MemoryHost {
  const clock = new VirtualClock(startMs === undefined ? {} : { startMs });
  const fs = new MemoryFileSystem(() => clock.now());
  return {
    clock,
    random: new SeededRandom(seed),
    fs,
    mounts: new MemoryMounts(fs),
    processes: new MemoryProcesses({ clock, fs }),
    cgroups: new MemoryCgroups(cgroupVersion),
    network: new MemoryNetwork(fs),
  };
}
