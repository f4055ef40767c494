import { closeBlockDevice } from '../block-device.ts';
import type { VolumeOnDisk } from '../volume-plugin.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { explained, findDriver } from './csi-errors.ts';
import { type BlockPaths, blockPaths, type PodBlockPaths, podBlockPaths } from './csi-paths.ts';
import { CSI_PLUGIN, volumeId, volumeOfId } from './csi-volume.ts';
import { isMounted } from './mount-folder.ts';
import type { StagedVolume } from './stage-volume.ts';
import { stopUsing } from './stop-using.ts';
import { type KnownVolume, loadVolumeData } from './volume-data.ts';

/**
 * Unmaps the device of a pod, unpublishes the volume, and unstages it after its last pod. The link of the pod is removed
 * last: until then a repeated call finds what is left to do.
 */
export async function unmapDevice(onDisk: VolumeOnDisk, deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const { fs, csi } = deps;
  const { podUid, name } = onDisk;
  const paths = podBlockPaths(deps.settings.rootDir, podUid, name);
  const data = await loadBlockData(paths, deps, signal);
  const knownId = csi.uses.idOf(onDisk);
  const volume = data ?? (knownId === undefined ? undefined : volumeOfId(knownId));
  await closeBlockDevice({ podUid, globalMapPath: paths.globalMap }, deps, signal);
  if (volume) {
    const id = volumeId(volume.driver, volume.handle);
    if (await mayBePublished(paths, deps)) await unpublish(volume, podUid, paths, deps, signal);
    const unstage = (): Promise<void> => unstageBlockVolume(volume, onDisk, deps, signal);
    await stopUsing({ id, podUid, name }, unstage, deps, signal);
  }
  await fs.remove(paths.link);
}

/** The folder is made just before the volume is published for its first pod. */
async function mayBePublished({ publishFolder }: BlockPaths, { fs }: CsiPluginDeps): Promise<boolean> {
  return (await fs.lstat(publishFolder)) !== undefined;
}

/** Unstages the volume unless another pod uses it. kubelet's `UnmapDevice`. */
export async function unstageBlockVolume(
  volume: StagedVolume,
  { podUid, name }: Pick<VolumeOnDisk, 'podUid' | 'name'>,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const id = volumeId(volume.driver, volume.handle);
  const unmount = (): Promise<void> =>
    deps.csi.uses.inTurn(id, () => tearDownDevice(volume, podUid, name, deps, signal), signal);
  await deps.nodeVolumes.stopUsing({ id, podUid }, unmount, signal);
}

async function loadBlockData(
  paths: PodBlockPaths,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<KnownVolume | undefined> {
  const what = `${CSI_PLUGIN}: unmapper failed to load volume data file [${paths.dataFolder}]`;
  return explained(
    what,
    async () => {
      const data = await loadVolumeData(paths.data, deps.fs);
      if (data || !(await isMounted(paths.map, deps))) return data;
      throw new Error(`${CSI_PLUGIN}: failed to open volume data file [${paths.data}]: no such file or directory`);
    },
    signal,
  );
}

async function unpublish(
  volume: StagedVolume,
  podUid: string,
  { publish }: PodBlockPaths,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const driver = findDriver(deps.csi, volume.driver, podUid, 'blockMapper.UnmapPodDevice failed to get CSI client');
  const request = { volumeId: volume.handle, targetPath: publish };
  const call = (): Promise<void> => driver.unpublishVolume(request, signal);
  const id = volumeId(volume.driver, volume.handle);
  const what = `${CSI_PLUGIN}: blockMapper.unpublishVolumeForBlock failed`;
  await explained(what, () => deps.csi.uses.inTurn(id, call, signal), signal);
}

async function tearDownDevice(
  volume: StagedVolume,
  podUid: string,
  name: string,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, csi, settings } = deps;
  const paths = blockPaths(settings.rootDir, name);
  const block = `${CSI_PLUGIN}: blockMapper.unstageVolumeForBlock failed`;
  if (await fs.lstat(paths.staging)) {
    const driver = findDriver(csi, volume.driver, podUid, 'blockMapper.TearDownDevice failed to get CSI client');
    if (driver.capabilities.has('STAGE_UNSTAGE_VOLUME')) {
      const request = { volumeId: volume.handle, stagingTargetPath: paths.staging };
      await explained(block, () => driver.unstageVolume(request, signal), signal);
      await fs.removeTree(paths.staging);
    }
  }
  await removeBlockFolders(paths, deps);
}

/** Nothing is removed through a mount, nor what another pod still has. */
async function removeBlockFolders(paths: BlockPaths, { fs }: CsiPluginDeps): Promise<void> {
  await fs.remove(paths.publishFolder);
  await fs.remove(paths.staging);
  await fs.removeTree(paths.folder);
}
