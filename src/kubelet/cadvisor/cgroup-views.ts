import type { CgroupDetails, FileLimit, OpenFiles } from '../../host/cgroup-stats.ts';
import type { InterfaceCounters } from '../../host/network-namespaces.ts';
import { countedInterfaces } from '../stats/network-stats.ts';
import { type CgroupOwner, cgroupLabels, type ImageNames } from './cgroup-owners.ts';
import type { CgroupView, FileSystemView } from './cgroup-view.ts';
import type { DiskCounters } from './disk-counters.ts';
import type { MachineView } from './machine-metrics.ts';
import { FIRST_PROCESS, firstProcess } from './network-processes.ts';

/** Everything that one scrape has read. Maps without another key are by the path of a cgroup. */
export interface CgroupReadings {
  readonly version: 'v1' | 'v2';
  readonly timeMs: number;
  readonly machine: Pick<MachineView, 'memoryBytes' | 'swapBytes'>;
  readonly bootSeconds: number;
  /** Wall-clock milliseconds. */
  readonly created: ReadonlyMap<string, number>;
  readonly figures: ReadonlyMap<string, CgroupDetails>;
  readonly owners: ReadonlyMap<string, CgroupOwner>;
  readonly names: ImageNames;
  /** The process whose network a cgroup shows. */
  readonly networks: ReadonlyMap<string, number>;
  /** By pid. */
  readonly openFiles: ReadonlyMap<number, OpenFiles>;
  /** By pid: those of `limitedProcess`. */
  readonly fileLimits: ReadonlyMap<number, FileLimit>;
  readonly interfaces: ReadonlyMap<number, readonly InterfaceCounters[]>;
  /** By `major:minor`. */
  readonly disks: ReadonlyMap<string, Pick<DiskCounters, 'device'>>;
  readonly machineFileSystems: readonly FileSystemView[];
  /** By container id. */
  readonly layerFileSystems: ReadonlyMap<string, FileSystemView>;
}

export function cgroupViews(readings: CgroupReadings): readonly CgroupView[] {
  const { figures, disks, timeMs, created, bootSeconds, owners, names, networks, interfaces } = readings;
  const deviceName = (number: string): string => disks.get(number)?.device ?? '';
  return [...figures].map(([path, own]) => {
    const owner = owners.get(path);
    const limited = path === '/' ? ofMachine(own, readings.machine) : own;
    const network = networks.get(path);
    const limitedPid = limitedProcess(path, owner, own);
    return {
      labels: cgroupLabels(path, owner, names),
      createdSeconds: Math.max(bootSeconds, Math.trunc((created.get(path) ?? 0) / 1000)),
      timeMs,
      figures: limited,
      swapLimitBytes: path === '/' ? readings.machine.swapBytes : swapLimit(own, readings.version),
      openFiles: sumOfFiles(own, readings.openFiles),
      fileLimit: limitedPid === undefined ? undefined : readings.fileLimits.get(limitedPid),
      interfaces: network === undefined ? [] : countedInterfaces(interfaces.get(network) ?? []),
      fileSystems: fileSystemsOf(path, owner, readings),
      deviceName,
    };
  });
}

/** The limit of the root cgroup is what the machine has. */
function ofMachine(figures: CgroupDetails, { memoryBytes }: CgroupReadings['machine']): CgroupDetails {
  return { ...figures, memory: { ...figures.memory, limitBytes: memoryBytes } };
}

/** Version 1 limits memory and swap together. */
function swapLimit({ memory, swap }: CgroupDetails, version: 'v1' | 'v2'): number | undefined {
  if (swap?.limitBytes === undefined) return undefined;
  return version === 'v2' ? swap.limitBytes : (memory.limitBytes ?? 0) + swap.limitBytes;
}

function sumOfFiles({ processes }: CgroupDetails, files: CgroupReadings['openFiles']): CgroupView['openFiles'] {
  const all = processes.flatMap((pid) => files.get(pid) ?? []);
  return {
    descriptors: all.reduce((sum, each) => sum + each.descriptors, 0),
    sockets: all.reduce((sum, each) => sum + each.sockets, 0),
  };
}

/** The process whose limits a cgroup shows: only containers, sandboxes and the machine have one. */
export function limitedProcess(
  path: string,
  owner: CgroupOwner | undefined,
  figures: Pick<CgroupDetails, 'processes'>,
): number | undefined {
  if (path === '/') return FIRST_PROCESS;
  return owner && owner.kind !== 'pod' ? firstProcess(figures) : undefined;
}

function fileSystemsOf(
  path: string,
  owner: CgroupOwner | undefined,
  { machineFileSystems, layerFileSystems }: CgroupReadings,
): readonly FileSystemView[] {
  if (path === '/') return machineFileSystems;
  const layer = owner?.kind === 'container' ? layerFileSystems.get(owner.id) : undefined;
  return layer ? [layer] : [];
}
