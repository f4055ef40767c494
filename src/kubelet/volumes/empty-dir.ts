import { dirname } from 'node:path';
import type { EmptyDirVolumeSource, Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { MountRequest, Mounts } from '../../host/mounts.ts';
import { podCgroupValues } from '../resources/pod-cgroup-values.ts';
import { setVolumeOwnership } from './fs-group.ts';
import { EMPTY_DIR_PLUGIN, readyFile, volumePath } from './volume-paths.ts';
import { type VolumePluginDeps, type VolumeSetup, volumePlugin } from './volume-plugin.ts';

const HUGE_PAGES_RESOURCE = 'hugepages-';
const HUGE_PAGES_MEDIUM = 'HugePages';
const DIRECTORY_MODE = 0o777;

export type EmptyDirDeps = Pick<VolumePluginDeps, 'fs' | 'mounts' | 'settings' | 'tmpfsNoswap' | 'quotas'>;

/** An empty directory that exists as long as the pod. */
export const emptyDirPlugin = volumePlugin({
  name: EMPTY_DIR_PLUGIN,
  supportsRelabel: true,
  source: ({ volume }) => volume.emptyDir,
  async setUp(source, setup, deps) {
    const path = await setUpEmptyDir(EMPTY_DIR_PLUGIN, source, setup, deps);
    return { path, readOnly: false, marker: path };
  },
  tearDown: async ({ path }, { quotas }) => quotas?.clear(path),
});

/**
 * Creates an empty directory on disk or in memory, for an emptyDir volume or below the content of another plugin. Once
 * the ready file exists, content, owner and mode belong to the containers and are not changed again, not even after a
 * restart. A size limit on disk is not enforced here: kubelet evicts pods that exceed it.
 */
export async function setUpEmptyDir(
  pluginName: string,
  source: EmptyDirVolumeSource,
  { pod, volume, mountPoints }: VolumeSetup,
  deps: EmptyDirDeps,
): Promise<string> {
  const { fs, mounts, settings, quotas } = deps;
  const path = volumePath(settings.rootDir, pod.metadata.uid, pluginName, volume.name);
  const ready = readyFile(settings.rootDir, pod.metadata.uid, pluginName, volume.name);
  const isOnDisk = !source.medium;
  const isMounted = mountPoints.includes(path);
  const isInPlace = isOnDisk ? (await fs.stat(path)) !== undefined : isMounted;
  if (isInPlace && (await fs.stat(ready))) return path;

  await fs.makeDirectory(path, DIRECTORY_MODE);
  // A process that was killed between mkdir(2) and chmod(2) left a directory with the mode that the umask allows.
  if (!isMounted && !(await hasMode(path, fs))) await fs.changeMode(path, DIRECTORY_MODE);
  if (!isOnDisk && !isMounted) await mountMedium({ target: path, ...mediumMount(pod, source, deps) }, mounts);
  const fsGroup = pod.spec.securityContext?.fsGroup;
  if (fsGroup !== undefined) await setVolumeOwnership(fs, path, fsGroup);
  if (isOnDisk) await quotas?.assign(pod, path);
  await fs.makeDirectory(dirname(ready), 0o750);
  await fs.writeFile(ready, '');
  return path;
}

/** Compares the permissions alone: setgid is of `fsGroup`. */
async function hasMode(path: string, fs: FileSystem): Promise<boolean> {
  const found = await fs.lstat(path);
  return found !== undefined && (found.mode & 0o777) === DIRECTORY_MODE;
}

/** Throws kubelet's message for a medium that the pod cannot have. */
function mediumMount(
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

/** Adds the page size to the error: a kernel without such pages only reports an invalid argument. */
async function mountMedium(request: MountRequest, mounts: Mounts): Promise<void> {
  try {
    await mounts.mount(request);
  } catch (error) {
    if (request.type !== 'hugetlbfs') throw error;
    throw new Error(`the machine has no huge pages of this size (${request.data}): ${errorText(error)}`, {
      cause: error,
    });
  }
}

/** The smallest of the volume's limit, the pod's memory limit and the node's memory. */
export function memoryVolumeBytes(pod: Pod, { sizeLimit }: EmptyDirVolumeSource, allocatableBytes: number): bigint {
  const unlimitedCpu = { cpuCfsQuota: false, cpuCfsQuotaPeriodMs: 100, podPidsLimit: 0 };
  const { memoryLimitBytes = 0 } = podCgroupValues(pod, unlimitedCpu);
  const limits = [BigInt(memoryLimitBytes), sizeLimit === undefined ? 0n : parseQuantity(sizeLimit).value()];
  return limits.reduce((least, limit) => (limit > 0n && limit <= least ? limit : least), BigInt(allocatableBytes));
}

/** `HugePages`, or `HugePages-2Mi` for pages of one size. */
function isHugePageMedium(medium: string): boolean {
  return medium === HUGE_PAGES_MEDIUM || medium.startsWith(`${HUGE_PAGES_MEDIUM}-`);
}

/** The page size of a volume of this medium. Throws kubelet's message if the pod requests none or several sizes. */
export function hugePageSize(medium: string, { spec }: Pod): string {
  const all = [spec, ...spec.containers, ...(spec.initContainers ?? [])];
  const names = all.flatMap(({ resources }) => Object.keys(resources?.requests ?? {}));
  const sizes = names
    .filter((name) => name.startsWith(HUGE_PAGES_RESOURCE))
    .map((name) => parseQuantity(name.slice(HUGE_PAGES_RESOURCE.length)).toString());
  const wanted =
    medium === HUGE_PAGES_MEDIUM ? undefined : parseQuantity(medium.slice(HUGE_PAGES_MEDIUM.length + 1)).toString();
  const [size, ...others] = new Set(sizes.filter((each) => wanted === undefined || each === wanted));
  if (size === undefined) {
    throw new Error(`medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`);
  }
  if (others.length > 0) {
    throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  }
  return size;
}
