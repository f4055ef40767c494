import type { CgroupDetails, CgroupUsage, DeviceTraffic } from '../../cgroup-stats.ts';
import {
  bigFigure,
  type Figures,
  figure,
  NO_FIGURES,
  readBigInt,
  readFigures,
  readKernelFile,
  readNumber,
  readNumbers,
} from '../proc/kernel-file.ts';
import { type CgroupStatsLayout, cgroupStatsLayout } from './cgroup-stats-layout.ts';

/** Version 1: one folder per controller. The `total_` figures include the cgroups below. */
export function cgroupStatsV1(root: string): CgroupStatsLayout {
  return cgroupStatsLayout({
    version: 'v1',
    files: (path) => filesOf(root, path),
    // The hierarchy in which every runtime creates cgroups.
    folder: (path) => `${root}/memory${path}`,
    birthFile: 'cgroup.clone_children',
    stats: memoryStat,
    usage: usageOf,
    details: detailsOf,
  });
}

type FileOf = (controller: string, name: string) => string;

function filesOf(root: string, path: string): FileOf {
  return (controller, name) => `${root}/${controller}${path}/${name}`;
}

function memoryStat(file: FileOf): Figures {
  return readFigures(file('memory', 'memory.stat'));
}

function usageOf(file: FileOf, stat: Figures): CgroupUsage | undefined {
  const cpuNs = readBigInt(file('cpuacct', 'cpuacct.usage'));
  if (cpuNs === undefined) return undefined;
  const usageBytes = readNumber(file('memory', 'memory.usage_in_bytes')) ?? 0;
  const limitBytes = readNumber(file('memory', 'memory.limit_in_bytes'));
  return {
    cpuNs,
    memory: {
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - figure(stat, 'total_inactive_file')),
      rssBytes: figure(stat, 'total_rss'),
      pageFaults: figure(stat, 'total_pgfault'), // words: quoted
      majorPageFaults: figure(stat, 'total_pgmajfault'), // words: quoted
      ...(limitBytes === undefined ? {} : { limitBytes }),
    },
    ...swapOf(file, stat, limitBytes),
    processes: readNumbers(file('pids', 'cgroup.procs')),
  };
}

/** The kernel's limit is for memory and swap together. */
function swapOf(file: FileOf, stat: Figures, memoryLimit: number | undefined): Pick<CgroupUsage, 'swap'> {
  if (!stat.has('total_swap')) return {};
  const both = readNumber(file('memory', 'memory.memsw.limit_in_bytes'));
  const usageBytes = figure(stat, 'total_swap');
  if (both === undefined || memoryLimit === undefined) return { swap: { usageBytes } };
  return { swap: { usageBytes, limitBytes: Math.max(0, both - memoryLimit) } };
}

function detailsOf(file: FileOf, stat: Figures, usage: CgroupUsage): CgroupDetails {
  const limits = limitsOf(file);
  // Without a quota there are no periods.
  const cpu = limits.cpuQuotaMicroseconds === undefined ? NO_FIGURES : readFigures(file('cpu', 'cpu.stat'));
  const threadsLimit = readNumber(file('pids', 'pids.max'));
  return {
    ...usage,
    cpu: {
      userNs: readBigInt(file('cpuacct', 'cpuacct.usage_user')) ?? 0n,
      systemNs: readBigInt(file('cpuacct', 'cpuacct.usage_sys')) ?? 0n,
      periods: figure(cpu, 'nr_periods'),
      throttledPeriods: figure(cpu, 'nr_throttled'),
      throttledNs: bigFigure(cpu, 'throttled_time'),
      burstPeriods: figure(cpu, 'nr_bursts'),
      burstNs: bigFigure(cpu, 'burst_time'),
    },
    limits,
    memoryDetails: {
      cacheBytes: figure(stat, 'total_cache'),
      kernelBytes: readNumber(file('memory', 'memory.kmem.usage_in_bytes')) ?? 0,
      mappedFileBytes: figure(stat, 'total_mapped_file'),
      activeFileBytes: figure(stat, 'total_active_file'),
      inactiveFileBytes: figure(stat, 'total_inactive_file'),
      maxUsageBytes: readNumber(file('memory', 'memory.max_usage_in_bytes')) ?? 0,
      limitHits: readNumber(file('memory', 'memory.failcnt')) ?? 0,
      oomKills: figure(readFigures(file('memory', 'memory.oom_control')), 'oom_kill'),
    },
    threads: readNumber(file('pids', 'pids.current')) ?? 0,
    ...(threadsLimit === undefined ? {} : { threadsLimit }),
    devices: devicesOf(file),
  };
}

/** A quota of -1 means no quota. */
function limitsOf(file: FileOf): CgroupDetails['limits'] {
  const cpuShares = readNumber(file('cpu', 'cpu.shares'));
  const cpuPeriodMicroseconds = readNumber(file('cpu', 'cpu.cfs_period_us'));
  const cpuQuotaMicroseconds = readNumber(file('cpu', 'cpu.cfs_quota_us')) ?? -1;
  const memoryReservationBytes = readNumber(file('memory', 'memory.soft_limit_in_bytes'));
  return {
    ...(cpuShares !== undefined && { cpuShares }),
    ...(cpuPeriodMicroseconds !== undefined && { cpuPeriodMicroseconds }),
    ...(cpuQuotaMicroseconds > 0 && { cpuQuotaMicroseconds }),
    ...(memoryReservationBytes !== undefined && { memoryReservationBytes }),
  };
}

/** Lines of `8:0 Read 4096`, with `Total 4096` at the end. */
function devicesOf(file: FileOf): readonly DeviceTraffic[] {
  const bytes = operationsOf(readKernelFile(file('blkio', 'blkio.throttle.io_service_bytes_recursive')));
  if (bytes.size === 0) return [];
  const counts = operationsOf(readKernelFile(file('blkio', 'blkio.throttle.io_serviced_recursive')));
  return [...bytes].map(([device, operations]) => {
    const [major = 0, minor = 0] = device.split(':').map(Number);
    const count = counts.get(device);
    return {
      major,
      minor,
      readBytes: operations.get('Read') ?? 0n,
      writeBytes: operations.get('Write') ?? 0n,
      reads: count?.get('Read') ?? 0n,
      writes: count?.get('Write') ?? 0n,
    };
  });
}

function operationsOf(text = ''): ReadonlyMap<string, ReadonlyMap<string, bigint>> {
  const devices = new Map<string, Map<string, bigint>>();
  for (const line of text.split('\n')) {
    const [device, operation, amount] = line.split(' ');
    if (device === undefined || operation === undefined || amount === undefined) continue;
    const operations = devices.get(device) ?? new Map<string, bigint>();
    devices.set(device, operations.set(operation, BigInt(amount)));
  }
  return devices;
}
