/** Nodes that run short of a resource: what a pod does for it, and what kubelet says of its eviction. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

const GIB = 2 ** 30;
/** More processes than the rest of the machine starts meanwhile. */
const SPARE_PROCESSES = 700;

/** Where the greedy pod writes its files. */
export const DATA_VOLUMES = [{ name: 'data', emptyDir: {} }];
export const DATA_MOUNTS = [{ name: 'data', mountPath: '/data' }];

export interface PodChange {
  readonly pod?: object;
  readonly container?: object;
}

export interface Shortage {
  /** What the shell of the greedy pod does. */
  readonly script: string;
  /** The other pod. */
  readonly calm: PodChange;
  /** Of the eviction. */
  readonly message: RegExp;
}

/** A pod that stays although its priority is lower: it keeps to its requests. */
const MODEST: PodChange = {
  pod: { priorityClassName: 'low' },
  container: { resources: { requests: { memory: '64Mi', 'ephemeral-storage': '4Mi' } } },
};

export const SHORTAGES: Readonly<Record<string, Shortage>> = {
  'memory: the pod over its request is evicted': {
    script: 'head -c 700000000 /dev/zero | tail -c 650000000 | sleep 1000 &',
    calm: MODEST,
    message:
      /^The node was low on resource: memory\. Threshold quantity: 512Mi, available: \S+\. Container main was using \S+, request is 0, has larger consumption of memory\. $/,
  },
  'processes: the pod that has most is evicted': {
    script: 'i=0; while [ $i -lt 1000 ]; do sleep 1000 & i=$((i+1)); done;',
    calm: {},
    message: /^The node was low on resource: pids\. Threshold quantity: \d+, available: \d+\. $/,
  },
  'disk: the pod that fills it is evicted': {
    script: 'head -c 55000000 /dev/zero > /data/zeros;',
    calm: MODEST,
    message: /^The node was low on resource: ephemeral-storage\. Threshold quantity: 16Mi, available: \S+\. /,
  },
  'inodes: the pod with most files is evicted': {
    // The first files are measured before the threshold is met.
    script: `${createFiles(0, 1500)} sleep 6; ${createFiles(1500, 3300)}`,
    calm: {},
    message: /^The node was low on resource: inodes\. Threshold quantity: 1k, available: \S+\. $/,
  },
};

function createFiles(from: number, to: number): string {
  return `i=${from}; while [ $i -lt ${to} ]; do : > /data/$i; i=$((i+1)); done;`;
}

/**
 * Fields of a KubeletConfiguration. The pods have one GiB of memory, of which half is to be left. What other programs of the
 * machine use does not matter: the same threshold is far away for the machine as a whole.
 */
export function smallNodeConfiguration() {
  return {
    kubeReserved: { memory: String(totalmem() - GIB) },
    enforceNodeAllocatable: ['pods'],
    evictionHard: {
      'memory.available': '512Mi',
      'pid.available': String(freeProcesses() - SPARE_PROCESSES),
      'nodefs.available': '16Mi',
      'nodefs.inodesFree': '1k',
      'imagefs.available': '1Mi',
    },
    evictionPressureTransitionPeriod: '1s',
    volumeStatsAggPeriod: '1s',
    nodeStatusUpdateFrequency: '1s',
  };
}

function freeProcesses(): number {
  const read = (path: string): number => Number(readFileSync(path, 'utf8'));
  const threads = /\/(\d+) /.exec(readFileSync('/proc/loadavg', 'utf8'))?.[1] ?? 0;
  return Math.min(read('/proc/sys/kernel/pid_max'), read('/proc/sys/kernel/threads-max')) - Number(threads);
}

/** A file system of the size of those thresholds, for the root directory. */
export function mountSmallDisk(path: string): void {
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,nr_inodes=4k,mode=755', 'tmpfs', path]);
}
