import type { VolumeOnDisk } from '../volume-plugin.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { explained, findDriver } from './csi-errors.ts';
import { type PodVolumePaths, podVolumePathsIn } from './csi-paths.ts';
import { CSI_PLUGIN, volumeOfId } from './csi-volume.ts';
import { isMounted, removeMountFolder, removeMountPoint, unmountAll } from './mount-folder.ts';
import { unstageVolume } from './stage-volume.ts';
import { stopUsing } from './stop-using.ts';
import { idOf, type KnownVolume, loadVolumeData } from './volume-data.ts';

/**
 * Unpublishes the volume of a pod, then unstages it after its last pod. `vol_data.json` is removed last: until then a
 * repeated call finds what is left to do. kubelet's `TearDownAt` and `UnmountDevice`.
 */
export async function tearDownVolume(volume: VolumeOnDisk, deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const { csi } = deps;
  const paths = podVolumePathsIn(volume.path);
  const data = await loadPodData(paths, deps, signal);
  const id = data ? idOf(data) : csi.uses.idOf(volume);
  if (data) await unpublish(data, volume.podUid, paths, deps, signal);
  csi.uses.setPublished(volume, false);
  if (id !== undefined) {
    const unstage = (): Promise<void> => unstageVolume(data ?? volumeOfId(id), volume.podUid, deps, signal);
    await stopUsing({ ...volume, id }, unstage, deps, signal);
  }
  await removeMountFolder(paths, deps);
}

/** `undefined`: the volume was not published for the pod. */
async function loadPodData(
  paths: PodVolumePaths,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<KnownVolume | undefined> {
  const what = `${CSI_PLUGIN}: unmounter failed to load volume data file [${paths.mount}]`;
  return explained(
    what,
    async () => {
      const data = await loadVolumeData(paths.data, deps.fs);
      if (data || !(await isMounted(paths.mount, deps))) return data;
      throw new Error(`${CSI_PLUGIN}: failed to open volume data file [${paths.data}]: no such file or directory`);
    },
    signal,
  );
}

async function unpublish(
  { driver: driverName, handle, ...known }: KnownVolume,
  podUid: string,
  paths: PodVolumePaths,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const driver = findDriver(deps.csi, driverName, podUid, 'Unmounter.TearDownAt failed to get CSI client');
  const request = { volumeId: handle, targetPath: paths.mount };
  const id = idOf({ driver: driverName, handle, ...known }) ?? handle;
  const call = (): Promise<void> => driver.unpublishVolume(request, signal);
  const what = `${CSI_PLUGIN}: Unmounter.TearDownAt failed`;
  await explained(what, () => deps.csi.uses.inTurn(id, call, signal), signal);
  await explained(
    `${CSI_PLUGIN}: Unmounter.TearDownAt failed to clean mount dir [${paths.mount}]`,
    async () => {
      await unmountAll(paths.mount, deps);
      await removeMountPoint(paths, deps);
    },
    signal,
  );
}
