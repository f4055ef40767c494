import type { CgroupStats, CgroupUsage } from '../../../host/cgroup-stats.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { RuntimeDisks } from './disk-layout.ts';
import type { PressureSignal, SignalFigures, SignalReadings } from './pressure-signal.ts';

export interface SignalDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'usage'>;
  readonly cgroupStats: Pick<CgroupStats, 'usage'>;
}

export interface SignalInputs {
  readonly memoryBytes: number;
  readonly rootDir: string;
  readonly podsCgroup: string;
  /** The memory that all pods together may use. */
  readonly podsMemoryBytes: number;
  /** Directories on the file systems of the runtime; absent while the runtime has not reported them. */
  readonly disks?: Pick<RuntimeDisks, 'imageFsPath' | 'containerFsPath'> | undefined;
}

type Reading = readonly [PressureSignal, SignalFigures];
type SignalReader = (inputs: SignalInputs, deps: SignalDeps) => Promise<readonly Reading[]>;

/** The readers of all signals, side by side. A new signal is a name in `PressureSignal`, a reader and an entry here. */
const SIGNAL_READERS: readonly SignalReader[] = [
  readMemory,
  ({ rootDir }, deps) => readDisk('nodefs', rootDir, deps),
  async ({ disks }, deps) => (disks ? readDisk('imagefs', disks.imageFsPath, deps) : []),
  async ({ disks }, deps) => (disks ? readDisk('containerfs', disks.containerFsPath, deps) : []),
  readProcesses,
];

/** All readable signals. A missing signal causes no pressure. */
export async function readSignals(inputs: SignalInputs, deps: SignalDeps): Promise<SignalReadings> {
  const groups = await Promise.all(SIGNAL_READERS.map((read) => read(inputs, deps).catch(() => [])));
  return new Map(groups.flat());
}

async function readMemory(inputs: SignalInputs, { fs, cgroupStats }: SignalDeps): Promise<readonly Reading[]> {
  const { memoryBytes, podsCgroup, podsMemoryBytes } = inputs;
  const used = await cgroupStats.usage(['/', podsCgroup]);
  const ofAll = used.get('/')?.memory ?? memoryOfAll(await fs.readText('/proc/meminfo'));
  const ofPods = used.get(podsCgroup)?.memory;
  const readings: Reading[] = [['memory.available', remaining(memoryBytes, ofAll)]];
  if (ofPods !== undefined) readings.push(['allocatableMemory.available', remaining(podsMemoryBytes, ofPods)]);
  return readings;
}

type MemoryUse = Pick<CgroupUsage['memory'], 'usageBytes' | 'workingSetBytes'>;

/**
 * Memory use from /proc/meminfo; the working set is without inactive file cache. The root cgroup of v2 has no memory
 * statistics.
 */
export function memoryOfAll(meminfo: string): MemoryUse {
  const kibibytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(meminfo)?.[1] ?? 0);
  const used = kibibytes('MemTotal') - kibibytes('MemFree');
  const workingSet = Math.max(0, used - kibibytes('Inactive\\(file\\)'));
  return { usageBytes: used * 1024, workingSetBytes: workingSet * 1024 };
}

function remaining(capacity: number, { usageBytes, workingSetBytes }: MemoryUse): SignalFigures {
  return {
    available: BigInt(Math.max(0, capacity - workingSetBytes)),
    capacity: BigInt(capacity),
    reclaimableBytes: Math.max(0, usageBytes - workingSetBytes),
  };
}

type DiskName = 'nodefs' | 'imagefs' | 'containerfs';

async function readDisk(name: DiskName, path: string, { fs }: SignalDeps): Promise<readonly Reading[]> {
  const { capacityBytes, availableBytes, inodes, inodesFree } = await fs.usage(path);
  return [
    [`${name}.available`, { available: BigInt(availableBytes), capacity: BigInt(capacityBytes) }],
    [`${name}.inodesFree`, { available: BigInt(inodesFree), capacity: BigInt(inodes) }],
  ];
}

/** The maximum number of processes: the smaller of the kernel's limits of pids and of threads. */
export async function processLimit(fs: Pick<FileSystem, 'readText'>): Promise<number> {
  const limits = await Promise.all(
    ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'].map((path) => fs.readText(path)),
  );
  return Math.min(...limits.map(Number));
}

/** /proc/loadavg counts threads. */
async function readProcesses(_inputs: SignalInputs, { fs }: SignalDeps): Promise<readonly Reading[]> {
  const capacity = await processLimit(fs);
  const threads = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(await fs.readText('/proc/loadavg'))?.[1];
  if (threads === undefined || Number.isNaN(capacity)) return [];
  return [['pid.available', { available: BigInt(capacity - Number(threads)), capacity: BigInt(capacity) }]];
}
