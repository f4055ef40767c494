import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuRates } from '../../base/cpu-rates.ts';
import { ContainerStats } from '../../cri/generated/runtime-v1.ts';
import type { CgroupUsage } from '../../host/cgroup-stats.ts';
import { cgroupUsageStats, reportedUsageStats, sumOfSwap } from './usage-stats.ts';

const TIME = '2026-11-16T18:00:00.5Z';
const AT = { time: TIME, monotonicNs: 1_000_000_000n };
const LATER = { time: TIME, monotonicNs: 3_000_000_000n };
const USAGE: CgroupUsage = {
  cpuNs: 5_000_000_000n,
  memory: { usageBytes: 900, workingSetBytes: 600, rssBytes: 500, pageFaults: 7, majorPageFaults: 1 }, // words: quoted
  processes: [],
};
const MEMORY = {
  time: TIME,
  usageBytes: 900,
  workingSetBytes: 600,
  rssBytes: 500,
  pageFaults: 7, // words: quoted
  majorPageFaults: 1, // words: quoted
};
const CPU = { time: TIME, usageCoreNanoSeconds: 5_000_000_000 };

const cgroups: Record<string, { change: Partial<CgroupUsage>; wanted: object }> = {
  'without limits has no available bytes': { change: {}, wanted: { cpu: CPU, memory: MEMORY } },
  'with limits has what is left of them': {
    change: { memory: { ...USAGE.memory, limitBytes: 1000 }, swap: { usageBytes: 10, limitBytes: 30 } },
    wanted: {
      cpu: CPU,
      memory: { ...MEMORY, availableBytes: 400 },
      swap: { time: TIME, swapAvailableBytes: 20, swapUsageBytes: 10 },
    },
  },
  'beyond its limit has nothing available': {
    change: { memory: { ...USAGE.memory, limitBytes: 100 } },
    wanted: { cpu: CPU, memory: { ...MEMORY, availableBytes: 0 } },
  },
};

for (const [name, { change, wanted }] of Object.entries(cgroups)) {
  test(`the usage of a cgroup ${name}`, () => {
    assert.deepEqual(cgroupUsageStats('c', { ...USAGE, ...change }, AT, new CpuRates()), wanted);
  });
}

test('the CPU rate of a cgroup is that between two readings', () => {
  const rates = new CpuRates();
  cgroupUsageStats('c', USAGE, AT, rates);
  const { cpu } = cgroupUsageStats('c', { ...USAGE, cpuNs: 6_000_000_000n }, LATER, rates);
  assert.deepEqual(cpu, { time: TIME, usageNanoCores: 500_000_000, usageCoreNanoSeconds: 6_000_000_000 });
});

test('pressure of a cgroup is shown with its CPU, memory and disks', () => {
  const figures = { totalMicroseconds: 9n, avg10: 1.5, avg60: 0, avg300: 0 };
  const none = { totalMicroseconds: 0n, avg10: 0, avg60: 0, avg300: 0 };
  const stall = { some: figures, full: none };
  const shown = {
    full: { total: 0, avg10: 0, avg60: 0, avg300: 0 },
    some: { total: 9, avg10: 1.5, avg60: 0, avg300: 0 },
  };
  const usage = { ...USAGE, pressure: { cpu: stall, memory: stall, io: stall } };
  assert.deepEqual(cgroupUsageStats('c', usage, AT, new CpuRates()), {
    cpu: { ...CPU, psi: shown },
    memory: { ...MEMORY, psi: shown },
    io: { time: TIME, psi: shown },
  });
});

test('a CPU rate that the runtime reports is shown as it is; one that it does not report is measured', () => {
  const rates = new CpuRates();
  const message = (ns: bigint, nanoCores?: bigint) =>
    ContainerStats.fromPartial({
      cpu: {
        timestamp: 1_500_000_000n,
        usageCoreNanoSeconds: { value: ns },
        ...(nanoCores !== undefined && { usageNanoCores: { value: nanoCores } }),
      },
    });
  const time = '1970-01-01T00:00:01.5Z';
  assert.deepEqual(reportedUsageStats('c', message(1n, 7n), AT, rates), {
    cpu: { time, usageNanoCores: 7, usageCoreNanoSeconds: 1 },
  });
  assert.deepEqual(reportedUsageStats('c', message(0n), AT, rates).cpu, { time, usageCoreNanoSeconds: 0 });
  assert.equal(reportedUsageStats('c', message(2_000_000_000n), LATER, rates).cpu?.usageNanoCores, 1_000_000_000);
});

test('the swap of a pod is that of its containers', () => {
  const limited = { swap: { time: TIME, swapAvailableBytes: 5, swapUsageBytes: 1 } };
  const unlimited = { swap: { time: TIME, swapUsageBytes: 2 } };
  assert.deepEqual(sumOfSwap([limited, limited]), { swap: { time: TIME, swapAvailableBytes: 10, swapUsageBytes: 2 } });
  assert.deepEqual(sumOfSwap([limited, unlimited, {}]), { swap: { time: TIME, swapUsageBytes: 3 } });
  assert.deepEqual(sumOfSwap([{}]), {});
});
