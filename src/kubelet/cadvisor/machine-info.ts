import type { FileSystem } from '../../host/file-system.ts';
import { type MachineIdentity, readMachineIdentity } from '../node/status/machine-identity.ts';
import type { MachineTopology } from '../topology/machine-topology.ts';
import { readMachineTopology } from '../topology/read-machine-topology.ts';
import type { MachineView } from './machine-metrics.ts';

export interface MachineInfo {
  readonly identity: MachineIdentity;
  readonly view: MachineView;
  /** Seconds since 1970, of the minute in which the machine was started. */
  readonly bootSeconds: number;
}

/** Describes the machine. It does not change while it runs, except for CPUs that are switched on and off. */
export async function readMachineInfo(memoryBytes: number, fs: FileSystem): Promise<MachineInfo> {
  const [identity, topology, stat, cpuinfo] = await Promise.all([
    readMachineIdentity(fs),
    readMachineTopology(fs),
    fs.readText('/proc/stat'),
    fs.readText('/proc/cpuinfo').catch(() => ''),
  ]);
  const boot = Number(/^btime (\d+)$/m.exec(stat)?.[1] ?? 0);
  return {
    identity,
    view: { ...cpuCounts(topology, cpuinfo), memoryBytes, swapBytes: identity.swapBytes },
    bootSeconds: boot - (boot % 60),
  };
}

/** As in cAdvisor, cores and sockets are the different ids in /proc/cpuinfo, and those of sysfs where it has none. */
export function cpuCounts(
  { cpus }: MachineTopology,
  cpuinfo: string,
): Pick<MachineView, 'cores' | 'physicalCores' | 'sockets'> {
  const places = [...cpus.values()];
  const different = (name: string): number =>
    new Set([...cpuinfo.matchAll(new RegExp(`^${name}\\s*:\\s*(\\d+)$`, 'gm'))].map(([, id]) => id)).size;
  return {
    cores: cpus.size,
    physicalCores: different('core id') || new Set(places.map(({ coreId }) => coreId)).size,
    sockets: different('physical id') || new Set(places.map(({ socketId }) => socketId)).size,
  };
}
