import { dirname } from 'node:path';
import type { EmptyDirVolumeSource, Pod } from '../../api/generated/core-v1.ts';
import { parseQuantity } from '../../base/quantity.ts';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { MountRequest, Mounts } from '../../host/mounts.ts';
import { podCgroupValues } from '../resources/pod-cgroup-values.ts';
import { giveToGroup } from './fs-group.ts';
import { hugePageSize, isHugePageMedium } from './huge-pages.ts';
import { type OwnVolumeType, readyFile, volumePath } from './volume-paths.ts';

export interface EmptyDirDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly settings: {
    readonly rootDir: string;
    readonly memoryCapacityBytes: number;
  };
  /** The kernel keeps a tmpfs out of swap when asked (6.4 and later). */
  readonly tmpfsNoswap: boolean;
}

/** An empty folder: a volume of its own, or what a volume of another type stands on. */
export interface EmptyFolder {
  readonly name: string;
  readonly type: OwnVolumeType;
  readonly source: EmptyDirVolumeSource;
}

/**
 * Makes an empty folder that lives as long as the pod, on disk or in memory. Once it is ready its content, owner and
 * mode are the containers' own affair: it is not touched again, whoever restarts. A size limit on disk is not held
 * here: whoever exceeds it is to be evicted.
 */
export async function prepareEmptyDir(
  pod: Pod,
  { name, type, source }: EmptyFolder,
  mountPoints: readonly string[],
  deps: EmptyDirDeps,
): Promise<string> {
  const { fs, mounts, settings } = deps;
  const path = volumePath(settings.rootDir, pod.metadata.uid, type, name);
  const ready = readyFile(settings.rootDir, pod.metadata.uid, type, name);
  const isOnDisk = !source.medium;
  const isMounted = mountPoints.includes(path);
  const isInPlace = isOnDisk ? (await fs.stat(path)) !== undefined : isMounted;
  if (isInPlace && (await fs.stat(ready))) return path;

  await fs.makeDirectory(path, 0o777);
  if (!isOnDisk && !isMounted) await mountMedium({ target: path, ...fileSystemOf(pod, source, deps) }, mounts);
  const fsGroup = pod.spec.securityContext?.fsGroup;
  if (fsGroup !== undefined) await giveToGroup(fs, path, fsGroup);
  await fs.makeDirectory(dirname(ready), 0o750);
  await fs.writeFile(ready, '');
  return path;
}

/** Throws kubelet's message for a medium that the pod cannot have. */
function fileSystemOf(
  pod: Pod,
  source: EmptyDirVolumeSource,
  { settings, tmpfsNoswap }: EmptyDirDeps,
): Omit<MountRequest, 'target'> {
  const { medium = '' } = source;
  if (isHugePageMedium(medium)) {
    return { source: 'nodev', type: 'hugetlbfs', data: `pagesize=${hugePageSize(medium, pod)}` };
  }
  if (medium !== 'Memory') throw new Error(`unknown storage medium "${medium}"`);
  const size = `size=${memoryVolumeBytes(pod, source, settings.memoryCapacityBytes)}`;
  return { source: 'tmpfs', type: 'tmpfs', data: tmpfsNoswap ? `${size},noswap` : size };
}

/** A kernel without such pages says no more than that an argument is wrong. */
async function mountMedium(request: MountRequest, mounts: Mounts): Promise<void> {
  try {
    await mounts.mount(request);
  } catch (error) {
    if (request.type !== 'hugetlbfs') throw error;
    throw new Error(`the machine has no huge pages of this size (${request.data}): ${errorText(error)}`, { cause: error });
  }
}

/** The least of what the volume, the pod and the node allow. */
export function memoryVolumeBytes(pod: Pod, { sizeLimit }: EmptyDirVolumeSource, allocatableBytes: number): bigint {
  const unlimitedCpu = { cpuCfsQuota: false, cpuCfsQuotaPeriodMs: 100, podPidsLimit: 0 };
  const { memoryLimitBytes = 0 } = podCgroupValues(pod, unlimitedCpu);
  const limits = [BigInt(memoryLimitBytes), sizeLimit === undefined ? 0n : parseQuantity(sizeLimit).value()];
  return limits.reduce((least, limit) => (limit > 0n && limit <= least ? limit : least), BigInt(allocatableBytes));
}
