import type { FileSystem, FileSystemUsage } from '../../host/file-system.ts';
import type { MountEntry } from '../../host/mounts.ts';
import type { LayerUsage } from '../stats/runtime-reader.ts';
import type { FileSystemView } from './cgroup-view.ts';
import type { DiskCounters } from './disk-counters.ts';

/** The types of file systems that cAdvisor counts, without those of the network, which may hang. */
const COUNTED = new Set([
  'btrfs',
  'exfat',
  'f2fs',
  'fat',
  'hfs',
  'hfsplus',
  'iso9660',
  'jfs',
  'msdos',
  'ntfs',
  'reiserfs',
  'squashfs',
  'tmpfs',
  'udf',
  'vfat',
  'xfs',
  'zfs',
]);
/** A path of a container or sandbox has its id, and that of a volume the name of its plugin. */
const OF_POD = /\/[0-9a-f]{64}(\/|$)|\/volumes\/kubernetes\.io~/;

/** A mounted file system, with the name that cAdvisor gives its device. */
export interface CountedMount {
  readonly device: string;
  readonly target: string;
  /** `major:minor` */
  readonly number: string;
}

/** The file systems of the machine, each once: without those of pods and containers, which come and go. */
export function machineMounts(mounts: readonly MountEntry[], rootDir: string): readonly CountedMount[] {
  const found = new Map<string, CountedMount>();
  for (const { type, source, target, device: number } of mounts) {
    const isRoot = target === '/';
    if (!isRoot && (!isCounted(type) || target.startsWith(`${rootDir}/`) || OF_POD.test(target))) continue;
    // tmpfs has no device: each mount is one of its own.
    const device = type === 'tmpfs' ? target : source;
    if (isRoot || !found.has(device)) found.set(device, { device, target, number });
  }
  return [...found.values()];
}

/** The device of the file system that a path is on. */
export function deviceOfPath(mounts: readonly MountEntry[], path: string): string | undefined {
  const above = mounts.filter(({ target }) => target === '/' || path === target || path.startsWith(`${target}/`));
  const nearest = above.reduce<MountEntry | undefined>(
    (best, each) => (best && best.target.length > each.target.length ? best : each),
    undefined,
  );
  return nearest && (nearest.type === 'tmpfs' ? nearest.target : nearest.source);
}

/** File systems that cannot be read are left out. */
export async function readFileSystems(
  mounts: readonly CountedMount[],
  disks: ReadonlyMap<string, DiskCounters>,
  fs: Pick<FileSystem, 'usage'>,
): Promise<readonly FileSystemView[]> {
  const views = await Promise.all(
    mounts.map(async ({ device, target, number }): Promise<readonly FileSystemView[]> => {
      const usage = await fs.usage(target).catch(() => undefined);
      const counters = disks.get(number);
      return usage ? [{ device, ...figuresOf(usage), ...(counters && { counters }) }] : [];
    }),
  );
  return views.flat();
}

/**
 * The file systems of writable layers by container id, with what the container uses of it. cAdvisor shows the inodes that the
 * layer uses as all inodes, and no free ones.
 */
export async function readLayerFileSystems(
  layers: ReadonlyMap<string, LayerUsage>,
  mounts: readonly MountEntry[],
  fs: Pick<FileSystem, 'usage'>,
): Promise<ReadonlyMap<string, FileSystemView>> {
  const places = [...new Set([...layers.values()].map(({ mountpoint }) => mountpoint))].filter((place) => place !== '');
  const disks = new Map<string, FileSystemView>();
  for (const place of places) {
    const usage = await fs.usage(place).catch(() => undefined);
    const device = deviceOfPath(mounts, place);
    if (usage && device !== undefined) disks.set(place, { device, ...figuresOf(usage) });
  }
  return new Map(
    [...layers].flatMap(([id, { mountpoint, usedBytes, inodesUsed: inodes = 0 }]) => {
      const disk = disks.get(mountpoint);
      return disk && usedBytes !== undefined ? [[id, { ...disk, usedBytes, inodes, inodesFree: 0 }] as const] : [];
    }),
  );
}

function figuresOf({ capacityBytes, usedBytes, inodes, inodesFree }: FileSystemUsage): Omit<FileSystemView, 'device'> {
  return { capacityBytes, usedBytes, inodes, inodesFree };
}

function isCounted(type: string): boolean {
  return COUNTED.has(type) || type.startsWith('ext');
}
