import type { Pod } from '../../../api/generated/core-v1.ts';
import { volumeDevicesDirectory } from '../volume-paths.ts';
import type {
  HostDevice,
  MountedVolume,
  RefreshableContent,
  VolumeOnDisk,
  VolumePlugin,
  VolumePluginDeps,
  VolumeSetup,
} from '../volume-plugin.ts';
import { attachVolume } from './attach-volume.ts';
import type { CsiDeps, CsiPluginDeps } from './csi-deps.ts';
import { blockPaths, podBlockPaths, podVolumePaths, podVolumePathsIn } from './csi-paths.ts';
import { CSI_PLUGIN, type CsiVolume, csiVolumeOf, type PersistentCsiVolume } from './csi-volume.ts';
import { needsRepublish } from './driver-object.ts';
import { expandDuringSetUp, expandInUse } from './expand-of-pod.ts';
import { linkToVolume, mapDevice } from './map-device.ts';
import { makeFolder, publishVolume } from './publish-volume.ts';
import { removeOrphans } from './remove-orphans.ts';
import { stageVolume } from './stage-volume.ts';
import { tearDownVolume } from './tear-down-volume.ts';
import { unmapDevice } from './unmap-device.ts';
import { idOf, loadVolumeData } from './volume-data.ts';

/**
 * Volumes of CSI drivers.
 *
 * 1. A persistent volume is attached, staged once for the node, then published for each pod. An ephemeral one is only
 *    published.
 * 2. The folder of a volume in its pod exists before the volume is staged, so that the release of the pod finds it. Its
 *    `vol_data.json` exists before the volume is published.
 * 3. A call without a certain outcome counts as one that had an effect: the volume is unpublished and unstaged later.
 */
export function csiPlugin(csi: CsiDeps): VolumePlugin {
  return {
    name: CSI_PLUGIN,
    supportsRelabel: true,
    canSupport: ({ volume, bound }) => Boolean(bound ? bound.volume.spec.csi : volume.csi),
    setUp: (setup, deps, signal) => setUpVolume(setup, { ...deps, csi }, signal),
    tearDown: (volume, deps, signal) => tearDownVolume(volume, { ...deps, csi }, signal),
    mapDevice: (setup, deps, signal) => setUpDevice(setup, { ...deps, csi }, signal),
    unmapDevice: (volume, deps, signal) => unmapDevice(volume, { ...deps, csi }, signal),
    nodeVolumeOf,
    removeOrphans: (deps, signal) => removeOrphans({ ...deps, csi }, signal),
    forget: (podUid) => csi.uses.forget(podUid),
  };
}

async function setUpVolume(setup: VolumeSetup, deps: CsiPluginDeps, signal: AbortSignal): Promise<MountedVolume> {
  const { pod } = setup;
  const volume = volumeOf(setup);
  const paths = podVolumePaths(deps.settings.rootDir, pod.metadata.uid, volume.name);
  await publish(volume, setup, deps, signal);
  await expandDuringSetUp(volume, setup, paths.mount, deps, signal);
  return {
    path: paths.mount,
    readOnly: volume.readOnly,
    isRelabelled: !volume.readOnly,
    // The mount itself may be one of a dead server, where stat(2) blocks.
    marker: paths.data,
    content: contentOf(volume, setup, deps),
  };
}

async function setUpDevice(setup: VolumeSetup, deps: CsiPluginDeps, signal: AbortSignal): Promise<HostDevice> {
  const volume = volumeOf(setup);
  if (volume.lifecycle === 'Ephemeral') throw new Error(`volume "${volume.name}" has no device`);
  const device = await publishDevice(volume, setup, deps, signal);
  await expandDuringSetUp(volume, setup, await deps.fs.realPath(device.path), deps, signal);
  const content: RefreshableContent = {
    async refresh(pod: Pod, until: AbortSignal) {
      await publishDevice(volume, { ...setup, pod }, deps, until);
      const path = await deps.fs.realPath(device.path);
      await expandInUse(volume, { ...setup, pod }, path, deps, until);
      return content;
    },
    invalidated: () => content,
  };
  return { ...device, content };
}

/** As `publish`, for a block volume. */
async function publishDevice(
  volume: PersistentCsiVolume,
  setup: VolumeSetup,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<HostDevice> {
  const { csi, fs, settings } = deps;
  const use = { podUid: setup.pod.metadata.uid, name: volume.name };
  const { link, map, globalMap } = podBlockPaths(settings.rootDir, use.podUid, use.name);
  const isMapped =
    csi.uses.isPublished(use) && (await fs.stat(link)) !== undefined && (await fs.lstat(map)) !== undefined;
  const isDone = isMapped && !needsRepublish(await csi.driverObjects.find(volume.driver, signal));
  if (isDone) return { path: link, readOnly: volume.readOnly, globalMapPath: globalMap };
  const mark = (): Promise<void> => linkToVolume(volume, use.podUid, deps);
  const context = await attachVolume(volume, setup, mark, deps, signal);
  const device = await mapDevice(volume, setup, context, deps, signal);
  csi.uses.setPublished(use, true);
  return device;
}

function volumeOf({ pod, volume: spec }: VolumeSetup): CsiVolume {
  const volume = csiVolumeOf(spec, pod.metadata);
  if (!volume) throw new Error(`volume "${spec.name}" is not of type ${CSI_PLUGIN}`);
  return volume;
}

/** Follows what changes by itself: the size of the volume, and what a driver publishes again at every sync. */
function contentOf(volume: CsiVolume, setup: VolumeSetup, deps: CsiPluginDeps): RefreshableContent {
  const { mount } = podVolumePaths(deps.settings.rootDir, setup.pod.metadata.uid, volume.name);
  const content: RefreshableContent = {
    async refresh(pod: Pod, signal: AbortSignal) {
      await publish(volume, { ...setup, pod }, deps, signal);
      await expandInUse(volume, { ...setup, pod }, mount, deps, signal);
      return content;
    },
    invalidated: () => content,
  };
  return content;
}

/** Publishes the volume unless this process has, or again if its driver wants it. */
async function publish(volume: CsiVolume, setup: VolumeSetup, deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const { csi, fs, settings } = deps;
  const use = { podUid: setup.pod.metadata.uid, name: volume.name };
  const paths = podVolumePaths(settings.rootDir, use.podUid, use.name);
  const isPublished = csi.uses.isPublished(use) && (await fs.lstat(paths.data)) !== undefined;
  if (isPublished && !needsRepublish(await csi.driverObjects.find(volume.driver, signal))) return;
  const [turn, context] = await attachAndStage(volume, setup, deps, signal);
  await csi.uses.inTurn(turn, () => publishVolume(volume, setup, context, deps, signal), signal);
  csi.uses.setPublished(use, true);
}

/** Resolves to the name of the volume for `inTurn`, and to its publish context. */
async function attachAndStage(
  volume: CsiVolume,
  setup: VolumeSetup,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<readonly [turn: string, context: Readonly<Record<string, string>>]> {
  if (volume.lifecycle === 'Ephemeral') return [volume.handle, {}];
  const paths = podVolumePaths(deps.settings.rootDir, setup.pod.metadata.uid, volume.name);
  const context = await attachVolume(volume, setup, () => makeFolder(paths, deps), deps, signal);
  await stageVolume(volume, setup, context, deps, signal);
  return [volume.id, context];
}

/** The volumes of other pods do not depend on a file that cannot be read; the mount of its pod keeps it staged. */
async function nodeVolumeOf(
  { path, podUid, name }: VolumeOnDisk,
  { fs }: Pick<VolumePluginDeps, 'fs'>,
): Promise<string | undefined> {
  const end = path.indexOf(volumeDevicesDirectory('', podUid));
  const file = end < 0 ? podVolumePathsIn(path).data : blockPaths(path.slice(0, end), name).data;
  const data = await loadVolumeData(file, fs).catch(() => undefined);
  return data && idOf(data);
}
