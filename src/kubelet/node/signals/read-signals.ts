import type { CgroupStats } from '../../../host/cgroup-stats.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { PressureSignal, SignalFigures, SignalReadings } from './pressure-signal.ts';

export interface SignalDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'usage'>;
  readonly cgroupStats: Pick<CgroupStats, 'usage'>;
  /** The path of the runtime's image file system; `undefined` if it does not report one. */
  readonly imageFsPath: () => Promise<string | undefined>;
}

export interface SignalInputs {
  readonly memoryBytes: number;
  readonly rootDir: string;
  readonly podsCgroup: string;
  /** The memory that all pods together may use. */
  readonly podsMemoryBytes: number;
}

type Reading = readonly [PressureSignal, SignalFigures];
type SignalReader = (inputs: SignalInputs, deps: SignalDeps) => Promise<readonly Reading[]>;

/** The readers of all signals, side by side. A new signal is a name in `PressureSignal`, a reader and an entry here. */
const SIGNAL_READERS: readonly SignalReader[] = [
  readMemory,
  ({ rootDir }, deps) => readDisk('nodefs', rootDir, deps),
  readImageDisk,
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
  const ofAll = used.get('/')?.memory.workingSetBytes ?? workingSetBytes(await fs.readText('/proc/meminfo'));
  const ofPods = used.get(podsCgroup)?.memory.workingSetBytes;
  const readings: Reading[] = [['memory.available', remaining(memoryBytes, ofAll)]];
  if (ofPods !== undefined) readings.push(['allocatableMemory.available', remaining(podsMemoryBytes, ofPods)]);
  return readings;
}

/**
 * The working set from /proc/meminfo: used memory without inactive file cache. The root cgroup of v2 has no memory
 * statistics.
 */
export function workingSetBytes(meminfo: string): number {
  const kibibytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(meminfo)?.[1] ?? 0);
  return Math.max(0, kibibytes('MemTotal') - kibibytes('MemFree') - kibibytes('Inactive\\(file\\)')) * 1024;
}

function remaining(capacity: number, used: number): SignalFigures {
  return { available: BigInt(Math.max(0, capacity - used)), capacity: BigInt(capacity) };
}

async function readImageDisk(_inputs: SignalInputs, deps: SignalDeps): Promise<readonly Reading[]> {
  const path = await deps.imageFsPath();
  return path === undefined ? [] : readDisk('imagefs', path, deps);
}

async function readDisk(name: 'nodefs' | 'imagefs', path: string, { fs }: SignalDeps): Promise<readonly Reading[]> {
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
