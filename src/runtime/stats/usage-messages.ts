import {
  type ContainerStats,
  CpuUsage,
  IoUsage,
  MemoryUsage,
  NetworkInterfaceUsage,
  NetworkUsage,
  PsiStats,
  SwapUsage,
  UInt64Value,
} from '../../cri/generated/runtime-v1.ts';
import type { CgroupUsage, PressureFigures, PressureStall } from '../../host/cgroup-stats.ts';
import type { InterfaceCounters } from '../../host/network-namespaces.ts';

/** The one whose figures are the pod's, as in every runtime: CNI's first. */
const DEFAULT_INTERFACE = 'eth0';

/** What a cgroup used, as CRI tells it of containers and pods alike. */
export function usageMessages(
  usage: CgroupUsage,
  nanoCores: bigint | undefined,
  timestamp: bigint,
): Pick<ContainerStats, 'cpu' | 'memory' | 'swap' | 'io'> {
  const { memory, swap, pressure } = usage;
  return {
    cpu: CpuUsage.create({
      timestamp,
      usageCoreNanoSeconds: amount(usage.cpuNs),
      usageNanoCores: amount(nanoCores),
      psi: pressure && psiOf(pressure.cpu),
    }),
    memory: MemoryUsage.create({
      timestamp,
      workingSetBytes: amount(memory.workingSetBytes),
      availableBytes: amount(available(memory.limitBytes, memory.workingSetBytes)),
      usageBytes: amount(memory.usageBytes),
      rssBytes: amount(memory.rssBytes),
      pageFaults: amount(memory.pageFaults),
      majorPageFaults: amount(memory.majorPageFaults),
      psi: pressure && psiOf(pressure.memory),
    }),
    swap:
      swap &&
      SwapUsage.create({
        timestamp,
        swapUsageBytes: amount(swap.usageBytes),
        swapAvailableBytes: amount(available(swap.limitBytes, swap.usageBytes)),
      }),
    io: pressure && IoUsage.create({ timestamp, psi: psiOf(pressure.io) }),
  };
}

/** Without a limit there is nothing to tell: what the machine has left is no business of one container. */
function available(limit: number | undefined, used: number): number | undefined {
  return limit === undefined ? undefined : Math.max(0, limit - used);
}

function psiOf({ full, some }: PressureStall): PsiStats {
  return PsiStats.create({ Full: psiData(full), Some: psiData(some) });
}

function psiData({ totalMicroseconds, avg10, avg60, avg300 }: PressureFigures) {
  return { Total: totalMicroseconds, Avg10: avg10, Avg60: avg60, Avg300: avg300 };
}

/** The loopback is left out: what a pod tells itself is no traffic. */
export function networkMessage(interfaces: readonly InterfaceCounters[], timestamp: bigint): NetworkUsage {
  const outside = interfaces.filter(({ name }) => name !== 'lo');
  const first = outside.find(({ name }) => name === DEFAULT_INTERFACE);
  return NetworkUsage.create({
    timestamp,
    defaultInterface: first && interfaceMessage(first),
    interfaces: outside.filter((each) => each !== first).map(interfaceMessage),
  });
}

function interfaceMessage({ name, received, sent }: InterfaceCounters): NetworkInterfaceUsage {
  return NetworkInterfaceUsage.create({
    name,
    rxBytes: amount(received.bytes),
    rxErrors: amount(received.errors),
    txBytes: amount(sent.bytes),
    txErrors: amount(sent.errors),
  });
}

export function amount(value: number | bigint | undefined): UInt64Value | undefined {
  return value === undefined ? undefined : UInt64Value.create({ value: BigInt(value) });
}
