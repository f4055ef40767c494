import type { CgroupDetails, CgroupUsage, DeviceTraffic, PressureFigures, PressureStall } from '../../cgroup-stats.ts';
import {
  bigFigure,
  type Figures,
  figure,
  readFigures,
  readKernelFile,
  readNumber,
  readNumbers,
} from '../proc/kernel-file.ts';
import { type CgroupStatsLayout, cgroupStatsLayout } from './cgroup-stats-layout.ts';

/**
 * Version 2: one folder. Every cgroup has `cpu.stat`, also without the cpu controller. The root has no files for the usage
 * of memory: it is that of the machine, from `meminfo`.
 */
export function cgroupStatsV2(root: string, meminfo = '/proc/meminfo'): CgroupStatsLayout {
  return cgroupStatsLayout({
    version: 'v2',
    files: (path) => filesOf(root, path, meminfo),
    folder: (path) => `${root}${path}`,
    birthFile: 'cgroup.events',
    stats: statsOf,
    usage: usageOf,
    details: detailsOf,
  });
}

interface CgroupFiles {
  readonly of: (name: string) => string;
  /** Absent unless the cgroup is the root. */
  readonly meminfo?: string;
}

/** The two files that both the usage and the details are read from. */
interface Stats {
  readonly cpu: Figures;
  readonly memory: Figures;
}

function filesOf(root: string, path: string, meminfo: string): CgroupFiles {
  const of = (name: string): string => `${root}${path}/${name}`;
  return path === '/' ? { of, meminfo } : { of };
}

function statsOf(files: CgroupFiles): Stats {
  return { cpu: readFigures(files.of('cpu.stat')), memory: readFigures(files.of('memory.stat')) };
}

function usageOf(files: CgroupFiles, { cpu, memory: stat }: Stats): CgroupUsage | undefined {
  if (!cpu.has('usage_usec')) return undefined;
  const machine = files.meminfo === undefined ? undefined : machineMemory(files.meminfo);
  const usageBytes = machine?.usageBytes ?? readNumber(files.of('memory.current')) ?? 0;
  const limitBytes = readNumber(files.of('memory.max'));
  return {
    cpuNs: bigFigure(cpu, 'usage_usec') * 1000n,
    memory: {
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - figure(stat, 'inactive_file')),
      rssBytes: figure(stat, 'anon'),
      pageFaults: figure(stat, 'pgfault'), // words: quoted
      majorPageFaults: figure(stat, 'pgmajfault'), // words: quoted
      ...(limitBytes === undefined ? {} : { limitBytes }),
    },
    ...(machine ? { swap: machine.swap } : swapOf(files)),
    processes: readNumbers(files.of('cgroup.procs')),
    ...pressureOf(files),
  };
}

/** Memory and swap in use on the machine; the values are in KiB. */
function machineMemory(meminfo: string): {
  readonly usageBytes: number;
  readonly swap: { readonly usageBytes: number };
} {
  const figures = readFigures(meminfo);
  const bytes = (name: string): number => Number.parseInt(figures.get(`${name}:`) ?? '0', 10) * 1024;
  const used = (what: string): number => Math.max(0, bytes(`${what}Total`) - bytes(`${what}Free`));
  return { usageBytes: used('Mem'), swap: { usageBytes: used('Swap') } };
}

function swapOf(files: CgroupFiles): Pick<CgroupUsage, 'swap'> {
  const usageBytes = readNumber(files.of('memory.swap.current'));
  if (usageBytes === undefined) return {};
  const limitBytes = readNumber(files.of('memory.swap.max'));
  return { swap: { usageBytes, ...(limitBytes === undefined ? {} : { limitBytes }) } };
}

function pressureOf(files: CgroupFiles): Pick<CgroupUsage, 'pressure'> {
  const [cpu, memory, io] = ['cpu.pressure', 'memory.pressure', 'io.pressure'].map((name) => stallOf(files.of(name)));
  return cpu && memory && io ? { pressure: { cpu, memory, io } } : {};
}

/** Two lines: `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and `full …` (older kernels have none for the CPU). */
function stallOf(path: string): PressureStall | undefined {
  const lines = readFigures(path);
  const some = lines.get('some');
  if (some === undefined) return undefined;
  return { some: pressureFigures(some), full: pressureFigures(lines.get('full') ?? '') };
}

function pressureFigures(line: string): PressureFigures {
  const figures = new Map(line.split(' ').map((pair) => [pair.split('=')[0] ?? '', pair.split('=')[1] ?? '0']));
  return {
    totalMicroseconds: bigFigure(figures, 'total'),
    avg10: figure(figures, 'avg10'),
    avg60: figure(figures, 'avg60'),
    avg300: figure(figures, 'avg300'),
  };
}

function detailsOf(files: CgroupFiles, { cpu, memory: stat }: Stats, usage: CgroupUsage): CgroupDetails {
  const events = readFigures(files.of('memory.events'));
  const threadsLimit = readNumber(files.of('pids.max'));
  return {
    ...usage,
    cpu: {
      userNs: bigFigure(cpu, 'user_usec') * 1000n,
      systemNs: bigFigure(cpu, 'system_usec') * 1000n,
      periods: figure(cpu, 'nr_periods'),
      throttledPeriods: figure(cpu, 'nr_throttled'),
      throttledNs: bigFigure(cpu, 'throttled_usec') * 1000n,
      burstPeriods: figure(cpu, 'nr_bursts'),
      burstNs: bigFigure(cpu, 'burst_usec') * 1000n,
    },
    limits: limitsOf(files),
    memoryDetails: {
      cacheBytes: figure(stat, 'file'),
      kernelBytes: figure(stat, 'kernel'),
      mappedFileBytes: figure(stat, 'file_mapped'),
      activeFileBytes: figure(stat, 'active_file'),
      inactiveFileBytes: figure(stat, 'inactive_file'),
      maxUsageBytes: readNumber(files.of('memory.peak')) ?? 0,
      limitHits: figure(events, 'max'),
      oomKills: figure(events, 'oom_kill'),
    },
    threads: readNumber(files.of('pids.current')) ?? 0,
    ...(threadsLimit === undefined ? {} : { threadsLimit }),
    devices: devicesOf(readKernelFile(files.of('io.stat'))),
  };
}

/** `cpu.max` is `max 100000` or `20000 100000`. */
function limitsOf(files: CgroupFiles): CgroupDetails['limits'] {
  const weight = readNumber(files.of('cpu.weight'));
  const [quota, period] = (readKernelFile(files.of('cpu.max')) ?? '').split(' ').map(Number);
  const memoryReservationBytes = readNumber(files.of('memory.min'));
  return {
    // As cAdvisor converts it.
    ...(weight !== undefined && { cpuShares: 2 + Math.trunc(((weight - 1) * 262_142) / 9999) }),
    ...(period !== undefined && { cpuPeriodMicroseconds: period }),
    ...(quota !== undefined && quota > 0 && { cpuQuotaMicroseconds: quota }),
    ...(memoryReservationBytes !== undefined && { memoryReservationBytes }),
  };
}

/** Lines of `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0`. */
function devicesOf(text = ''): readonly DeviceTraffic[] {
  return text.split('\n').flatMap((line) => {
    const [device = '', ...pairs] = line.split(' ');
    const [major, minor] = device.split(':').map(Number);
    if (major === undefined || minor === undefined) return [];
    const figures = new Map(pairs.map((pair) => [pair.split('=')[0] ?? '', pair.split('=')[1] ?? '0']));
    return [
      {
        major,
        minor,
        readBytes: bigFigure(figures, 'rbytes'),
        writeBytes: bigFigure(figures, 'wbytes'),
        reads: bigFigure(figures, 'rios'),
        writes: bigFigure(figures, 'wios'),
      },
    ];
  });
}
