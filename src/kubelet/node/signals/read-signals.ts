import type { CgroupStats } from '../../../host/cgroup-stats.ts';
import type { FileSystem } from '../../../host/file-system.ts';
import type { PressureSignal, SignalFigures, SignalReadings } from './pressure-signal.ts';

export interface SignalDeps {
  readonly fs: Pick<FileSystem, 'readText' | 'usage'>;
  readonly cgroupStats: Pick<CgroupStats, 'usage'>;
  /** Where the runtime keeps its images; nothing when it does not say. */
  readonly imageFsPath: () => Promise<string | undefined>;
}

export interface SignalInputs {
  readonly memoryBytes: number;
  readonly rootDir: string;
  readonly podsCgroup: string;
  /** What pods may have together. */
  readonly podsMemoryBytes: number;
}

type Reading = readonly [PressureSignal, SignalFigures];

/** All that can be read; what cannot is left out, and then puts the node under no pressure. */
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

/** The root of control groups of version 2 counts nothing: what is in use, without files that nobody used lately. */
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

/** How many processes the machine can have; the kernel has one limit for ids and one for threads. */
export async function processLimit(fs: Pick<FileSystem, 'readText'>): Promise<number> {
  const limits = await Promise.all(
    ['/proc/sys/kernel/pid_max', '/proc/sys/kernel/threads-max'].map((path) => fs.readText(path)),
  );
  return Math.min(...limits.map(Number));
}

/** The kernel's load figures count threads. */
async function processes({ fs }: SignalDeps): Promise<readonly Reading[]> {
  const capacity = await processLimit(fs);
  const threads = /^\S+ \S+ \S+ \d+\/(\d+) /.exec(await fs.readText('/proc/loadavg'))?.[1];
  if (threads === undefined || Number.isNaN(capacity)) return [];
  return [['pid.available', { available: BigInt(capacity - Number(threads)), capacity: BigInt(capacity) }]];
}
