import type { Host } from '../host.ts';
import { MemoryCgroupStats } from './memory-cgroup-stats.ts';
import { MemoryCgroups } from './memory-cgroups.ts';
import { MemoryConnectedPrograms } from './memory-connected-programs.ts';
import { MemoryFifos } from './memory-fifos.ts';
import { MemoryFileSystem } from './memory-file-system.ts';
import { MemoryFolderClaims } from './memory-folder-claims.ts';
import { MemoryJavaScriptEngine } from './memory-javascript-engine.ts';
import { MemoryKernelLog } from './memory-kernel-log.ts';
import { MemoryLockFiles } from './memory-lock-files.ts';
import { MemoryLoginManager } from './memory-login-manager.ts';
import { MemoryMachineAddresses } from './memory-machine-addresses.ts';
import { MemoryMounts } from './memory-mounts.ts';
import { MemoryNamespaces } from './memory-namespaces.ts';
import { MemoryNetwork } from './memory-network.ts';
import { MemoryNetworkNamespaces } from './memory-network-namespaces.ts';
import { MemoryPacketSockets } from './memory-packet-sockets.ts';
import { MemoryPressureEvents } from './memory-pressure-events.ts';
import { MemoryProcesses } from './memory-processes.ts';
import { MemoryProfiler } from './memory-profiler.ts';
import { MemoryProjectQuotas } from './memory-project-quotas.ts';
import { MemoryServiceManager } from './memory-service-manager.ts';
import { MemorySigningKeys } from './memory-signing-keys.ts';
import { MemorySystemd } from './memory-systemd.ts';
import { SeededRandom } from './seeded-random.ts';
import { VirtualClock } from './virtual-clock.ts';

/** An in-memory machine with controls for tests. */
export interface MemoryHost extends Host {
  readonly clock: VirtualClock;
  readonly random: SeededRandom;
  readonly signingKeys: MemorySigningKeys;
  readonly fs: MemoryFileSystem;
  readonly folderClaims: MemoryFolderClaims;
  readonly lockFiles: MemoryLockFiles;
  readonly fifos: MemoryFifos;
  readonly mounts: MemoryMounts;
  readonly projectQuotas: MemoryProjectQuotas;
  readonly namespaces: MemoryNamespaces;
  readonly processes: MemoryProcesses;
  readonly connectedPrograms: MemoryConnectedPrograms;
  readonly profiler: MemoryProfiler;
  readonly cgroups: MemoryCgroups;
  readonly cgroupStats: MemoryCgroupStats;
  readonly pressureEvents: MemoryPressureEvents;
  readonly systemd: MemorySystemd;
  readonly loginManager: MemoryLoginManager;
  readonly kernelLog: MemoryKernelLog;
  readonly javaScriptEngine: MemoryJavaScriptEngine;
  readonly serviceManager: MemoryServiceManager;
  readonly network: MemoryNetwork;
  readonly addresses: MemoryMachineAddresses;
  readonly networkNamespaces: MemoryNetworkNamespaces;
  readonly packetSockets: MemoryPacketSockets;
}

export interface MemoryHostOptions {
  readonly seed?: number;
  /** Wall-clock time at the start. */
  readonly startMs?: number;
  readonly cgroupVersion?: 'v1' | 'v2';
}

/** A new machine without files and processes. The same seed gives the same machine. */
export function createMemoryHost({ seed = 1, startMs, cgroupVersion }: MemoryHostOptions = {}): MemoryHost {
  const clock = new VirtualClock(startMs === undefined ? {} : { startMs });
  const fs = new MemoryFileSystem(() => clock.now());
  const mounts = new MemoryMounts(fs);
  const cgroups = new MemoryCgroups(cgroupVersion);
  return {
    clock,
    random: new SeededRandom(seed),
    // A separate generator, so that creating a key does not change other random values.
    signingKeys: new MemorySigningKeys(new SeededRandom(seed)),
    fs,
    folderClaims: new MemoryFolderClaims(),
    lockFiles: new MemoryLockFiles(),
    fifos: new MemoryFifos(),
    mounts,
    projectQuotas: new MemoryProjectQuotas(fs),
    namespaces: new MemoryNamespaces(fs, mounts),
    processes: new MemoryProcesses({ clock, fs }),
    connectedPrograms: new MemoryConnectedPrograms(),
    profiler: new MemoryProfiler(clock),
    cgroups,
    cgroupStats: new MemoryCgroupStats(cgroupVersion),
    pressureEvents: new MemoryPressureEvents(cgroupVersion),
    systemd: new MemorySystemd(cgroups),
    loginManager: new MemoryLoginManager(fs),
    kernelLog: new MemoryKernelLog(),
    javaScriptEngine: new MemoryJavaScriptEngine(),
    serviceManager: new MemoryServiceManager(),
    network: new MemoryNetwork(fs),
    addresses: new MemoryMachineAddresses(),
    networkNamespaces: new MemoryNetworkNamespaces(),
    packetSockets: new MemoryPacketSockets(),
  };
}
