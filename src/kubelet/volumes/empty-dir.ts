import { dirname } from 'node:path';
import type { EmptyDirVolumeSource, Pod } from '../../api/generated/core-v1.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import { podCgroupValues } from '../resources/pod-cgroup-values.ts';
import { giveToGroup } from './fs-group.ts';
import { emptyDirPath, emptyDirReadyFile } from './volume-paths.ts';

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

/**
 * Makes an empty folder that lives as long as the pod, on disk or in memory. Once it is ready its content, owner and
 * mode are the containers' own affair: it is not touched again, whoever restarts. A size limit on disk is not held
 * here: whoever exceeds it is to be evicted.
 */
export async function prepareEmptyDir(
  pod: Pod,
  volumeName: string,
  source: EmptyDirVolumeSource,
  { fs, mounts, settings, tmpfsNoswap }: EmptyDirDeps,
): Promise<string> {
  const { rootDir, memoryCapacityBytes } = settings;
  const path = emptyDirPath(rootDir, pod.metadata.uid, volumeName);
  const readyFile = emptyDirReadyFile(rootDir, pod.metadata.uid, volumeName);
  const inMemory = source.medium === 'Memory';
  if (source.medium && !inMemory) throw new Error(`unknown storage medium "${source.medium}"`);

  const isMounted = (await mounts.list()).some(({ target }) => target === path);
  const isInPlace = inMemory ? isMounted : (await fs.stat(path)) !== undefined;
  if (isInPlace && (await fs.stat(readyFile))) return path;

  await fs.makeDirectory(path, 0o777);
  if (inMemory && !isMounted) {
    const size = `size=${memoryVolumeBytes(pod, source, memoryCapacityBytes)}`;
    const data = tmpfsNoswap ? `${size},noswap` : size;
    await mounts.mount({ source: 'tmpfs', target: path, type: 'tmpfs', data });
  }
  const fsGroup = pod.spec.securityContext?.fsGroup;
  if (fsGroup !== undefined) await giveToGroup(fs, path, fsGroup);
  await fs.makeDirectory(dirname(readyFile), 0o750);
  await fs.writeFile(readyFile, '');
  return path;
}

/** The least of what the volume, the pod and the node allow. */
export function memoryVolumeBytes(pod: Pod, { sizeLimit }: EmptyDirVolumeSource, allocatableBytes: number): bigint {
  const unlimitedCpu = { cpuCfsQuota: false, cpuCfsQuotaPeriodMs: 100, podPidsLimit: 0 };
  const { memoryLimitBytes = 0 } = podCgroupValues(pod, unlimitedCpu);
  const limits = [BigInt(memoryLimitBytes), sizeLimit === undefined ? 0n : parseQuantity(sizeLimit).value()];
  return limits.reduce((least, limit) => (limit > 0n && limit <= least ? limit : least), BigInt(allocatableBytes));
}
