import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRuntime } from '../integration/runtime-fixture.ts';

/** The resource usage of one side: the runtime, its child processes, monitors and containers. */
export interface UsageMeter {
  /** CPU time since the start of the measurement, including exited processes. */
  cpuMs(): number;
  memory(): { readonly pssMb: number; readonly processes: number };
  close(): void;
}

const CPUACCT = '/sys/fs/cgroup/cpuacct';
const CGROUP2 = '/sys/fs/cgroup';

/**
 * Measured by the kernel: the runtime's process is put into a cgroup that its children inherit; containers
 * are in another one, below the pods' parent.
 */
export function measureUsage(runtime: TestRuntime): UsageMeter {
  const root = existsSync(CPUACCT) ? CPUACCT : CGROUP2;
  const own = join(root, `${runtime.cgroupParent}-runtime`);
  const pods = join(root, runtime.cgroupParent);
  mkdirSync(own, { recursive: true });
  mkdirSync(pods, { recursive: true });
  const pid = runtime.pid();
  writeFileSync(join(own, 'cgroup.procs'), String(pid));
  const members = (): number[] => [...processesBelow(own), ...processesBelow(pods)];
  return {
    cpuMs: () => cpuMs(own) + cpuMs(pods),
    memory() {
      const pids = members();
      return { pssMb: pids.reduce((sum, each) => sum + pssMb(each), 0), processes: pids.length };
    },
    close() {
      for (const each of processesBelow(own)) writeFileSync(join(root, 'cgroup.procs'), String(each));
      rmdirSync(own);
    },
  };
}

function cpuMs(cgroup: string): number {
  const v1 = join(cgroup, 'cpuacct.usage');
  if (existsSync(v1)) return Number(readFileSync(v1, 'utf8')) / 1e6;
  return Number(/usage_usec (\d+)/.exec(readFileSync(join(cgroup, 'cpu.stat'), 'utf8'))?.[1]) / 1e3;
}

function processesBelow(cgroup: string): number[] {
  const own = readFileSync(join(cgroup, 'cgroup.procs'), 'utf8').trim();
  const below = readdirSync(cgroup, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return [
    ...(own === '' ? [] : own.split('\n').map(Number)),
    ...below.flatMap(({ name }) => processesBelow(join(cgroup, name))),
  ];
}

/** Shared pages count proportionally. */
function pssMb(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024;
  } catch {
    return 0; // exited meanwhile
  }
}
