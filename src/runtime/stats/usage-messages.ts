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

/** The interface that counts as the pod's default, as in every runtime. */
const DEFAULT_INTERFACE = 'eth0';

/** Usage of a cgroup as CRI messages, for containers and pods. */
export function usageMessages(
  usage: CgroupUsage,
  nanoCores: bigint | undefined,
  timestamp: bigint,
): Pick<ContainerStats, 'cpu' | 'memory' | 'swap' | 'io'> {
  const { memory, swap, pressure } = usage;
  return {
    cpu: CpuUsage.create({
      timestamp,
      usageCoreNanoSeconds: uint64Value(usage.cpuNs),
      usageNanoCores: uint64Value(nanoCores),
      psi: pressure && psiMessage(pressure.cpu),
    }),
    memory: MemoryUsage.create({
      timestamp,
      workingSetBytes: uint64Value(memory.workingSetBytes),
      availableBytes: uint64Value(availableBytes(memory.limitBytes, memory.workingSetBytes)),
      usageBytes: uint64Value(memory.usageBytes),
      rssBytes: uint64Value(memory.rssBytes),
      pageFaults: uint64Value(memory.pageFaults), // words: quoted
      majorPageFaults: uint64Value(memory.majorPageFaults), // words: quoted
      psi: pressure && psiMessage(pressure.memory),
    }),
    swap:
      swap &&
      SwapUsage.create({
        timestamp,
        swapUsageBytes: uint64Value(swap.usageBytes),
        swapAvailableBytes: uint64Value(availableBytes(swap.limitBytes, swap.usageBytes)),
      }),
    io: pressure && IoUsage.create({ timestamp, psi: psiMessage(pressure.io) }),
  };
}

/** `undefined` without a limit: the free memory of the node does not belong to the container. */
function availableBytes(limit: number | undefined, used: number): number | undefined {
  return limit === undefined ? undefined : Math.max(0, limit - used);
}

function psiMessage({ full, some }: PressureStall): PsiStats {
  return PsiStats.create({ Full: psiData(full), Some: psiData(some) });
}

function psiData({ totalMicroseconds, avg10, avg60, avg300 }: PressureFigures) {
  return { Total: totalMicroseconds, Avg10: avg10, Avg60: avg60, Avg300: avg300 };
}

/** Without the loopback interface. */
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
    rxBytes: uint64Value(received.bytes),
    rxErrors: uint64Value(received.errors),
    txBytes: uint64Value(sent.bytes),
    txErrors: uint64Value(sent.errors),
  });
}

export function uint64Value(value: number | bigint | undefined): UInt64Value | undefined {
  return value === undefined ? undefined : UInt64Value.create({ value: BigInt(value) });
}
