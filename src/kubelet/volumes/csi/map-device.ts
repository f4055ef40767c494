import { dirname } from 'node:path';
import type { Pod } from '../../../api/generated/core-v1.ts';
import { isFinalCsiError } from '../../../plugins/csi/csi-drivers.ts';
import { PluginError } from '../../../plugins/plugin-error.ts';
import { mapBlockDevice } from '../block-device.ts';
import { makeNodeDirectory } from '../make-node-directory.ts';
import { inStep } from '../volume-error.ts';
import type { HostDevice, VolumeSetup } from '../volume-plugin.ts';
import { isExclusive } from '../volume-spec.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { explained, findDriver } from './csi-errors.ts';
import { credentialsOf } from './csi-objects.ts';
import { podBlockPaths } from './csi-paths.ts';
import { publishRequest, stageRequest } from './csi-requests.ts';
import { CSI_PLUGIN, type PersistentCsiVolume } from './csi-volume.ts';
import { podInfo } from './driver-object.ts';
import { blockVolumeData, saveVolumeData } from './volume-data.ts';

type Strings = Readonly<Record<string, string>>;

/** Stages and publishes a block volume, and maps its device for the pod. kubelet's `GenerateMapVolumeFunc`. */
export async function mapDevice(
  volume: PersistentCsiVolume,
  { pod, volume: spec }: VolumeSetup,
  publishContext: Strings,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<HostDevice> {
  const { nodeVolumes, csi, settings } = deps;
  const { id } = volume;
  const paths = podBlockPaths(settings.rootDir, pod.metadata.uid, volume.name);
  const use = { id, podUid: pod.metadata.uid, isExclusive: isExclusive(spec) };
  const setUp = (): Promise<void> =>
    csi.uses.inTurn(id, () => setUpDevice(volume, pod, publishContext, deps, signal), signal);
  await inStep('MapVolume.SetUpDevice', () => nodeVolumes.use(use, setUp, signal), signal);
  const publish = (): Promise<void> => mapPodDevice(volume, pod, publishContext, deps, signal);
  await inStep('MapVolume.MapPodDevice', () => csi.uses.inTurn(id, publish, signal), signal);
  const mapping = { podUid: use.podUid, globalMapPath: paths.globalMap, link: paths.link };
  return mapBlockDevice(paths.publish, mapping, volume.readOnly, deps, signal);
}

/** Links the pod to its volume, so that the release of the pod finds it. It leads nowhere until the volume is published. */
export async function linkToVolume({ name }: PersistentCsiVolume, podUid: string, deps: CsiPluginDeps): Promise<void> {
  const { fs, settings } = deps;
  const { link, publish } = podBlockPaths(settings.rootDir, podUid, name);
  if (await fs.lstat(link)) return;
  await makeNodeDirectory(dirname(link), deps);
  await fs.symbolicLink(publish, link);
}

async function setUpDevice(
  volume: PersistentCsiVolume,
  pod: Pod,
  publishContext: Strings,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, csi, settings } = deps;
  const { uid } = pod.metadata;
  const driver = findDriver(csi, volume.driver, uid, 'blockMapper.SetUpDevice failed to get CSI client');
  const { capabilities } = driver;
  const { staging, dataFolder, data } = podBlockPaths(settings.rootDir, uid, volume.name);
  await makeNodeDirectory(dataFolder, deps);
  await saveVolumeData(data, blockVolumeData(volume, csi.nodeName), fs);
  if (!capabilities.has('STAGE_UNSTAGE_VOLUME')) return;
  const { stageSecret } = volume;
  const secrets = await explained(
    `${CSI_PLUGIN}: failed to get NodeStageSecretRef ${stageSecret?.namespace}/${stageSecret?.name}`,
    () => credentialsOf(stageSecret, deps, signal),
    signal,
  );
  const isNew = !(await fs.lstat(staging));
  const what = `${CSI_PLUGIN}: blockMapper.stageVolumeForBlock failed to create dir ${staging}`;
  await explained(what, () => makeNodeDirectory(staging, deps), signal);
  try {
    const context = { capabilities, mode: 'Block', publishContext, secrets, fsGroup: undefined } as const;
    await driver.stageVolume(stageRequest(volume, staging, context), signal, volume.isMigrated);
  } catch (error) {
    // After an uncertain error the volume may be staged: it is unstaged after its last pod.
    if (isNew && error instanceof PluginError && isFinalCsiError(error)) await fs.remove(staging);
    throw error;
  }
}

async function mapPodDevice(
  volume: PersistentCsiVolume,
  pod: Pod,
  publishContext: Strings,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { csi, settings } = deps;
  const { uid } = pod.metadata;
  const driver = findDriver(csi, volume.driver, uid, 'blockMapper.MapPodDevice failed to get CSI client');
  const mapper = `${CSI_PLUGIN}: blockMapper.publishVolumeForBlock failed`;
  const object = await explained(
    `${mapper} to assemble volume attributes`,
    () => csi.driverObjects.find(volume.driver, signal),
    signal,
  );
  const { publishSecret, attributes, lifecycle } = volume;
  const secrets = await explained(
    `${mapper} to get NodePublishSecretRef ${publishSecret?.namespace}/${publishSecret?.name}`,
    () => credentialsOf(publishSecret, deps, signal),
    signal,
  );
  const { staging, publish, publishFolder } = podBlockPaths(settings.rootDir, uid, volume.name);
  const what = `${mapper} to create dir ${publishFolder}`;
  await explained(what, () => makeNodeDirectory(publishFolder, deps), signal);
  const { capabilities } = driver;
  const context = { capabilities, mode: 'Block', publishContext, secrets, fsGroup: undefined } as const;
  const volumeContext = { ...attributes, ...podInfo(object, pod, lifecycle) };
  // kubelet names the staging path also for a driver that does not stage volumes.
  const request = publishRequest(volume, { staging, target: publish }, volumeContext, context);
  await driver.publishVolume(request, signal, volume.isMigrated);
}
