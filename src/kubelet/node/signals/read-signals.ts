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

/** All readable signals. A missing signal causes no pressure. */
export async function readSignals(places: SignalInputs, deps: SignalDeps): Promise<SignalReadings> {
  const groups = await Promise.all(
    [memory(places, deps), disk('nodefs', places.rootDir, deps), images(deps), processes(deps)].map((reading) =>
      reading.catch(() => []),
    ),
  );
  return new Map(groups.flat());
}

async function memory(places: SignalInputs, { fs, cgroupStats }: SignalDeps): Promise<readonly Reading[]> {
  const { memoryBytes, podsCgroup, podsMemoryBytes } = places;
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

async function images(deps: SignalDeps): Promise<readonly Reading[]> {
  const place = await deps.imageFsPath();
  return place === undefined ? [] : disk('imagefs', place, deps);
}

async function disk(name: 'nodefs' | 'imagefs', path: string, { fs }: SignalDeps): Promise<readonly Reading[]> {
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
async function processes({ fs }: SignalDeps): Promise<readonly Reading[]> {
  const capacity = await processLimit(fs);
  const threads = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(await fs.readText('/proc/loadavg'))?.[1];
  if (threads === undefined || Number.isNaN(capacity)) return [];
  return [['pid.available', { available: BigInt(capacity - Number(threads)), capacity: BigInt(capacity) }]];
}
