import type { CpuStats, IoStats, MemoryStats, PsiStats, SwapStats } from '../../api/stats-summary.ts';
import type { CpuRates } from '../../base/cpu-rates.ts';
import { formatNanoTime } from '../../base/rfc3339.ts';
import type { ContainerStats, LinuxPodSandboxStats, PsiStats as PsiMessage } from '../../cri/generated/runtime-v1.ts';
import type { CgroupUsage, PressureFigures, PressureStall } from '../../host/cgroup-stats.ts';

/** What a container, a pod or the node uses of the CPU and of memory. */
export interface UsageStats {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly swap?: SwapStats;
}

/** A time of reading: of the wall clock for users, monotonic for CPU rates. */
export interface ReadingTime {
  readonly time: string;
  readonly monotonicNs: bigint;
}

type Messages = Partial<Pick<ContainerStats, 'cpu' | 'memory' | 'io' | 'swap'>> &
  Partial<Pick<LinuxPodSandboxStats, 'cpu' | 'memory' | 'io'>>;

/** The usage of a cgroup. `id` names it in `rates`. */
export function cgroupUsageStats(id: string, usage: CgroupUsage, at: ReadingTime, rates: CpuRates): UsageStats {
  const { cpuNs, memory, swap, pressure } = usage;
  const { time } = at;
  const nanoCores = rates.nanoCores(id, cpuNs, at.monotonicNs);
  const available = availableBytes(memory.limitBytes, memory.workingSetBytes);
  return {
    cpu: {
      time,
      ...(nanoCores !== undefined && { usageNanoCores: Number(nanoCores) }),
      usageCoreNanoSeconds: Number(cpuNs),
      ...(pressure && { psi: psiOf(pressure.cpu) }),
    },
    memory: {
      time,
      ...(available !== undefined && { availableBytes: available }),
      usageBytes: memory.usageBytes,
      workingSetBytes: memory.workingSetBytes,
      rssBytes: memory.rssBytes,
      pageFaults: memory.pageFaults, // words: quoted
      majorPageFaults: memory.majorPageFaults, // words: quoted
      ...(pressure && { psi: psiOf(pressure.memory) }),
    },
    ...(pressure && { io: { time, psi: psiOf(pressure.io) } }),
    ...(swap && { swap: swapStats(time, swap.usageBytes, availableBytes(swap.limitBytes, swap.usageBytes)) }),
  };
}

/** The usage as the runtime reports it. A CPU rate that it does not report is measured between two calls. */
export function reportedUsageStats(id: string, messages: Messages, at: ReadingTime, rates: CpuRates): UsageStats {
  const { cpu, memory, io, swap } = messages;
  const cpuNs = cpu?.usageCoreNanoSeconds?.value;
  const nanoCores =
    cpu?.usageNanoCores?.value ?? (cpuNs === undefined ? undefined : rates.nanoCores(id, cpuNs, at.monotonicNs));
  return {
    ...(cpu && {
      cpu: {
        time: formatNanoTime(cpu.timestamp),
        ...optional('usageNanoCores', nanoCores),
        ...optional('usageCoreNanoSeconds', cpuNs),
        ...reportedPsi(cpu.psi),
      },
    }),
    ...(memory && {
      memory: {
        time: formatNanoTime(memory.timestamp),
        ...optional('availableBytes', memory.availableBytes?.value),
        ...optional('usageBytes', memory.usageBytes?.value),
        ...optional('workingSetBytes', memory.workingSetBytes?.value),
        ...optional('rssBytes', memory.rssBytes?.value),
        ...optional('pageFaults', memory.pageFaults?.value), // words: quoted
        ...optional('majorPageFaults', memory.majorPageFaults?.value), // words: quoted
        ...reportedPsi(memory.psi),
      },
    }),
    ...(io && { io: { time: formatNanoTime(io.timestamp), ...reportedPsi(io.psi) } }),
    ...(swap && {
      swap: {
        time: formatNanoTime(swap.timestamp),
        ...optional('swapAvailableBytes', swap.swapAvailableBytes?.value),
        ...optional('swapUsageBytes', swap.swapUsageBytes?.value),
      },
    }),
  };
}

/** The swap of a pod: that of its containers together. Available bytes are known only if all containers have a limit. */
export function sumOfSwap(containers: readonly UsageStats[]): Pick<UsageStats, 'swap'> {
  const all = containers.flatMap(({ swap }) => swap ?? []);
  const [first] = all;
  if (!first) return {};
  const available = all.flatMap(({ swapAvailableBytes }) => swapAvailableBytes ?? []);
  const used = sum(all.map(({ swapUsageBytes = 0 }) => swapUsageBytes));
  return { swap: swapStats(first.time, used, available.length === all.length ? sum(available) : undefined) };
}

/** An entry of an object, or none. */
export function optional<K extends string>(name: K, value: bigint | number | undefined): { [key in K]?: number } {
  if (value === undefined) return {};
  const entry: { [key in K]?: number } = {};
  entry[name] = Number(value);
  return entry;
}

function swapStats(time: string, used: number, available: number | undefined): SwapStats {
  return { time, ...(available !== undefined && { swapAvailableBytes: available }), swapUsageBytes: used };
}

function availableBytes(limit: number | undefined, used: number): number | undefined {
  return limit === undefined ? undefined : Math.max(0, limit - used);
}

function psiOf({ full, some }: PressureStall): PsiStats {
  return { full: psiData(full), some: psiData(some) };
}

function psiData({ totalMicroseconds, avg10, avg60, avg300 }: PressureFigures): PsiStats['full'] {
  return { total: Number(totalMicroseconds), avg10, avg60, avg300 };
}

function reportedPsi(message: PsiMessage | undefined): { readonly psi?: PsiStats } {
  if (!message) return {};
  const data = (part: PsiMessage['Full']): PsiStats['full'] => ({
    total: Number(part?.Total ?? 0n),
    avg10: part?.Avg10 ?? 0,
    avg60: part?.Avg60 ?? 0,
    avg300: part?.Avg300 ?? 0,
  });
  return { psi: { full: data(message.Full), some: data(message.Some) } };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
