import type { Pod } from '../../../api/generated/core-v1.ts';
import { isFinalCsiError } from '../../../plugins/csi/csi-drivers.ts';
import { PluginError } from '../../../plugins/plugin-error.ts';
import { makeNodeDirectory } from '../make-node-directory.ts';
import { inStep } from '../volume-error.ts';
import type { VolumeSetup } from '../volume-plugin.ts';
import { isExclusive } from '../volume-spec.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { explained, findDriver } from './csi-errors.ts';
import { credentialsOf } from './csi-objects.ts';
import { stagingPaths } from './csi-paths.ts';
import { stageRequest } from './csi-requests.ts';
import { CSI_PLUGIN, type PersistentCsiVolume, volumeId } from './csi-volume.ts';
import { otherMountsOf, removeMountFolder, unmountAll } from './mount-folder.ts';
import { loadVolumeData, saveVolumeData, stagedVolumeData } from './volume-data.ts';

type Strings = Readonly<Record<string, string>>;

/** What is known of a volume that may be staged. */
export interface StagedVolume {
  readonly driver: string;
  readonly handle: string;
}

/** Stages the volume for its first pod. The other pods share it. kubelet's `MountDevice`. */
export async function stageVolume(
  volume: PersistentCsiVolume,
  { pod, volume: spec }: VolumeSetup,
  publishContext: Strings,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { id } = volume;
  const mount = (): Promise<void> =>
    deps.csi.uses.inTurn(id, () => mountDevice(volume, pod, publishContext, deps, signal), signal);
  const use = { id, podUid: pod.metadata.uid, isExclusive: isExclusive(spec) };
  await inStep('MountVolume.MountDevice', () => deps.nodeVolumes.use(use, mount, signal), signal);
}

async function mountDevice(
  volume: PersistentCsiVolume,
  pod: Pod,
  publishContext: Strings,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, csi, settings } = deps;
  const { driver: driverName, handle } = volume;
  const driver = findDriver(
    csi,
    driverName,
    pod.metadata.uid,
    'attacher.MountDevice failed to create newCsiDriverClient',
  );
  const { capabilities } = driver;
  if (!capabilities.has('STAGE_UNSTAGE_VOLUME')) return;
  const { stageSecret } = volume;
  const secrets = await explained(
    `fetching NodeStageSecretRef ${stageSecret?.namespace}/${stageSecret?.name} failed`,
    () => credentialsOf(stageSecret, deps, signal),
    signal,
  );
  const paths = stagingPaths(settings.rootDir, driverName, handle);
  const isNew = !(await fs.lstat(paths.data));
  await explained(
    `${CSI_PLUGIN}: attacher.MountDevice failed to create dir "${paths.mount}"`,
    () => makeNodeDirectory(paths.mount, deps),
    signal,
  );
  await explained(
    `${CSI_PLUGIN}: failed to save volume info data`,
    () => saveVolumeData(paths.data, stagedVolumeData(volume), fs),
    signal,
  );
  try {
    const fsGroup = pod.spec.securityContext?.fsGroup;
    const context = { capabilities, mode: 'Filesystem', publishContext, secrets, fsGroup } as const;
    await driver.stageVolume(stageRequest(volume, paths.mount, context), signal, volume.isMigrated);
  } catch (error) {
    // After an uncertain error the volume may be staged: it is unstaged after its last pod.
    if (isNew && error instanceof PluginError && isFinalCsiError(error)) await removeMountFolder(paths, deps);
    throw error;
  }
}

/** Unstages the volume unless another pod uses it. kubelet's `UnmountDevice`. */
export async function unstageVolume(
  volume: StagedVolume,
  podUid: string,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const id = volumeId(volume.driver, volume.handle);
  const unmount = (): Promise<void> =>
    deps.csi.uses.inTurn(id, () => unmountDevice(volume, podUid, deps, signal), signal);
  await deps.nodeVolumes.stopUsing({ id, podUid }, unmount, signal);
}

async function unmountDevice(
  { driver: driverName, handle }: StagedVolume,
  podUid: string,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { csi, fs, settings } = deps;
  const paths = stagingPaths(settings.rootDir, driverName, handle);
  if (!(await fs.lstat(paths.folder))) return;
  const cleanUp = `${CSI_PLUGIN}: failed to clean up global mount ${paths.folder}`;
  // Without the file nothing was staged.
  const data = await loadVolumeData(paths.data, fs);
  if (data) {
    const driver = findDriver(csi, driverName, podUid, 'attacher.UnmountDevice failed to create newCsiDriverClient');
    if (driver.capabilities.has('STAGE_UNSTAGE_VOLUME')) {
      await checkNotMountedElsewhere(paths.mount, deps);
      const request = { volumeId: handle, stagingTargetPath: paths.mount };
      const what = `${CSI_PLUGIN}: attacher.UnmountDevice failed`;
      await explained(what, () => driver.unstageVolume(request, signal), signal);
      await explained(cleanUp, () => unmountAll(paths.mount, deps), signal);
    }
  }
  await explained(cleanUp, () => removeMountFolder(paths, deps), signal);
}

async function checkNotMountedElsewhere(path: string, deps: CsiPluginDeps): Promise<void> {
  const others = await otherMountsOf(path, deps);
  if (others.length === 0) return;
  const message = `the device mount path "${path}" is still mounted by other references [${others.join(' ')}]`;
  throw new Error(`GetDeviceMountRefs check failed: ${message}`);
}
