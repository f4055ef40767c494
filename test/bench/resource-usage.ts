import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRuntime } from '../integration/runtime-fixture.ts';

/** What all processes of one side cost: the runtime, whatever it starts, monitors and containers. */
export interface Account {
  /** CPU time since the account was opened, of the living and the dead. */
  cpuMs(): number;
  memory(): { readonly pssMb: number; readonly processes: number };
  close(): void;
}

const CPUACCT = '/sys/fs/cgroup/cpuacct';
const CGROUP2 = '/sys/fs/cgroup';

/**
 * The kernel keeps it: the runtime's process is put into a control group, which all that it starts inherits; containers
 * are in another one, below the pods' parent.
 */
export function accountFor(runtime: TestRuntime): Account {
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

/** A page that several processes share counts for each by its part. */
function pssMb(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024;
  } catch {
    return 0; // gone meanwhile
  }
}
