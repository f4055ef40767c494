import { join } from 'node:path';
import type { CgroupDetails, CgroupUsage, DeviceTraffic, PressureFigures, PressureStall } from '../../cgroup-stats.ts';
import { bigFigure, figure, readFigures, readKernelFile, readNumber, readNumbers } from '../proc/kernel-file.ts';
import { type CgroupStatsLayout, cgroupStatsLayout } from './cgroup-stats-layout.ts';

/** Version 2: one folder. Every cgroup has `cpu.stat`, also without the cpu controller. */
export function cgroupStatsV2(root: string): CgroupStatsLayout {
  return cgroupStatsLayout({
    version: 'v2',
    files: (path) => filesOf(root, path),
    stats: statsOf,
    usage: usageOf,
    details: detailsOf,
  });
}

type FileOf = (name: string) => string;

/** The two files that both the usage and the details are read from. */
interface Stats {
  readonly cpu: ReadonlyMap<string, string>;
  readonly memory: ReadonlyMap<string, string>;
}

function filesOf(root: string, path: string): FileOf {
  return (name) => join(root, path, name);
}

function statsOf(file: FileOf): Stats {
  return { cpu: readFigures(file('cpu.stat')), memory: readFigures(file('memory.stat')) };
}

function usageOf(file: FileOf, { cpu, memory: stat }: Stats): CgroupUsage | undefined {
  if (cpu.size === 0) return undefined;
  const usageBytes = readNumber(file('memory.current')) ?? 0;
  const limitBytes = readNumber(file('memory.max'));
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
    ...swapOf(file),
    threads: readNumber(file('pids.current')) ?? 0,
    ...pressureOf(file),
  };
}

function swapOf(file: FileOf): Pick<CgroupUsage, 'swap'> {
  const usageBytes = readNumber(file('memory.swap.current'));
  if (usageBytes === undefined) return {};
  const limitBytes = readNumber(file('memory.swap.max'));
  return { swap: { usageBytes, ...(limitBytes === undefined ? {} : { limitBytes }) } };
}

function pressureOf(file: FileOf): Pick<CgroupUsage, 'pressure'> {
  const [cpu, memory, io] = ['cpu.pressure', 'memory.pressure', 'io.pressure'].map((name) => stallOf(file(name)));
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

function detailsOf(file: FileOf, { cpu, memory: stat }: Stats, usage: CgroupUsage): CgroupDetails {
  const events = readFigures(file('memory.events'));
  const threadsLimit = readNumber(file('pids.max'));
  return {
    ...usage,
    cpu: {
      userNs: bigFigure(cpu, 'user_usec') * 1000n,
      systemNs: bigFigure(cpu, 'system_usec') * 1000n,
      periods: figure(cpu, 'nr_periods'),
      throttledPeriods: figure(cpu, 'nr_throttled'),
      throttledNs: bigFigure(cpu, 'throttled_usec') * 1000n,
    },
    memoryDetails: {
      cacheBytes: figure(stat, 'file'),
      kernelBytes: figure(stat, 'kernel'),
      mappedFileBytes: figure(stat, 'file_mapped'),
      activeFileBytes: figure(stat, 'active_file'),
      inactiveFileBytes: figure(stat, 'inactive_file'),
      maxUsageBytes: readNumber(file('memory.peak')) ?? 0,
      limitHits: figure(events, 'max'),
      oomKills: figure(events, 'oom_kill'),
    },
    processes: readNumbers(file('cgroup.procs')),
    ...(threadsLimit === undefined ? {} : { threadsLimit }),
    devices: devicesOf(readKernelFile(file('io.stat'))),
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
