import { isFinalCsiError } from '../../../plugins/csi/csi-drivers.ts';
import { PluginError } from '../../../plugins/plugin-error.ts';
import { applyFsGroup } from '../fs-group.ts';
import { makeNodeDirectory } from '../make-node-directory.ts';
import type { VolumeSetup } from '../volume-plugin.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { explained, findDriver } from './csi-errors.ts';
import { credentialsOf, serviceAccountTokens } from './csi-objects.ts';
import { type PodVolumePaths, podVolumePaths, stagingPaths } from './csi-paths.ts';
import { publishRequest } from './csi-requests.ts';
import { CSI_PLUGIN, type CsiVolume } from './csi-volume.ts';
import { changesGroup, checkLifecycle, type DriverObject, fsGroupPolicyOf, podInfo } from './driver-object.ts';
import { removeMountFiles } from './mount-folder.ts';
import { podVolumeData, saveVolumeData } from './volume-data.ts';

type Strings = Readonly<Record<string, string>>;

const SET_UP = `${CSI_PLUGIN}: mounter.SetUpAt failed`;

/** Publishes the volume for a pod, or publishes it again. kubelet's `SetUpAt`. */
export async function publishVolume(
  volume: CsiVolume,
  setup: VolumeSetup,
  publishContext: Strings,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, csi, settings } = deps;
  const { pod } = setup;
  const driver = findDriver(csi, volume.driver, pod.metadata.uid, 'mounter.SetUpAt failed to get CSI client');
  // Go's spelling differs between these messages and the others.
  const object = await explained(
    `${CSI_PLUGIN}: mounter.SetupAt failed to check volume lifecycle mode`,
    async () => {
      const found = await csi.driverObjects.find(volume.driver, signal);
      checkLifecycle(volume, found);
      return found;
    },
    signal,
  );
  const what = `${CSI_PLUGIN}: mounter.SetupAt failed to check fsGroup policy`;
  const policy = await explained(what, () => fsGroupPolicyOf(object), signal);
  const paths = podVolumePaths(settings.rootDir, pod.metadata.uid, volume.name);
  await explained(`${SET_UP} to create dir "${paths.folder}"`, () => makeFolder(paths, deps), signal);
  const { volumeContext, secrets } = await contentsOf(volume, object, setup, deps, signal);
  const isNew = !(await fs.lstat(paths.data));
  await saveVolumeData(paths.data, podVolumeData(volume, csi.nodeName), fs);
  const { capabilities } = driver;
  const isStaged = volume.lifecycle === 'Persistent' && capabilities.has('STAGE_UNSTAGE_VOLUME');
  const staging = isStaged ? stagingPaths(settings.rootDir, volume.driver, volume.handle).mount : '';
  const fsGroup = pod.spec.securityContext?.fsGroup;
  const context = { capabilities, mode: 'Filesystem', publishContext, secrets, fsGroup } as const;
  try {
    const target = { staging, target: paths.mount };
    await driver.publishVolume(publishRequest(volume, target, volumeContext, context), signal, volume.isMigrated);
  } catch (error) {
    // What the pod already has is not removed because it could not be published again. The folder stays: the volume is
    // still staged for the pod.
    if (isNew && error instanceof PluginError && isFinalCsiError(error)) await removeMountFiles(paths, deps);
    throw error;
  }
  if (fsGroup === undefined || capabilities.has('VOLUME_MOUNT_GROUP') || !changesGroup(volume, policy)) return;
  await explained(
    `applyFSGroup failed for vol ${volume.handle}`,
    () => applyFsGroup(deps, paths.mount, { pod, access: 'write' }, signal),
    signal,
  );
}

/** The folder of a volume on its own shows that the volume may be staged for the pod. */
export async function makeFolder({ folder }: PodVolumePaths, deps: CsiPluginDeps): Promise<void> {
  await makeNodeDirectory(folder, deps);
}

interface Contents {
  readonly volumeContext: Strings;
  readonly secrets: Strings;
}

async function contentsOf(
  volume: CsiVolume,
  object: DriverObject,
  { pod }: VolumeSetup,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<Contents> {
  const { publishSecret } = volume;
  const secrets = await explained(
    `fetching NodePublishSecretRef ${publishSecret?.namespace}/${publishSecret?.name} failed`,
    () => credentialsOf(publishSecret, deps, signal),
    signal,
  );
  const attributes = { ...volume.attributes, ...podInfo(object, pod, volume.lifecycle) };
  const tokens = await explained(
    `${SET_UP} to get service accoount token attributes`,
    () => serviceAccountTokens(object, pod, deps, signal),
    signal,
  );
  return object?.spec.serviceAccountTokenInSecrets
    ? { volumeContext: attributes, secrets: { ...secrets, ...tokens } }
    : { volumeContext: { ...attributes, ...tokens }, secrets };
}
