import type { Pod } from '../../../api/generated/core-v1.ts';
import { VolumeError } from '../volume-error.ts';
import type { MountedVolume, RefreshableContent, VolumePlugin, VolumeSetup } from '../volume-plugin.ts';
import type { CsiDeps, CsiPluginDeps } from './csi-deps.ts';
import { inStep } from './csi-errors.ts';
import { publishContextOf } from './csi-objects.ts';
import { podVolumePaths, podVolumePathsIn } from './csi-paths.ts';
import { CSI_PLUGIN, type CsiVolume, csiVolumeOf, type PersistentCsiVolume } from './csi-volume.ts';
import { needsAttach, needsRepublish } from './driver-object.ts';
import { makeFolder, publishVolume } from './publish-volume.ts';
import { removeOrphans } from './remove-orphans.ts';
import { stageVolume } from './stage-volume.ts';
import { tearDownVolume } from './tear-down-volume.ts';
import { idOf, loadVolumeData } from './volume-data.ts';

type Strings = Readonly<Record<string, string>>;

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
    async nodeVolumeOf({ path }, { fs }) {
      // The volumes of other pods do not depend on a file that cannot be read; the mount of its pod keeps it staged.
      const data = await loadVolumeData(podVolumePathsIn(path).data, fs).catch(() => undefined);
      return data && idOf(data);
    },
    removeOrphans: (deps, signal) => removeOrphans({ ...deps, csi }, signal),
    forget(podUid, { attachedVolumes }) {
      for (const id of csi.uses.forget(podUid)) attachedVolumes.release(id);
    },
  };
}

async function setUpVolume(setup: VolumeSetup, deps: CsiPluginDeps, signal: AbortSignal): Promise<MountedVolume> {
  const { pod, volume: spec } = setup;
  const volume = csiVolumeOf(spec, pod.metadata);
  if (!volume) throw new Error(`volume "${spec.name}" is not of type ${CSI_PLUGIN}`);
  const paths = podVolumePaths(deps.settings.rootDir, pod.metadata.uid, volume.name);
  await publish(volume, setup, deps, signal);
  return {
    path: paths.mount,
    readOnly: volume.readOnly,
    isRelabelled: !volume.readOnly,
    // The mount itself may be one of a dead server, where stat(2) blocks.
    marker: paths.data,
    content: contentOf(volume, setup, deps),
  };
}

/** Follows what changes by itself: a driver may ask for its volumes to be published again at every sync. */
function contentOf(volume: CsiVolume, setup: VolumeSetup, deps: CsiPluginDeps): RefreshableContent {
  const content: RefreshableContent = {
    async refresh(pod: Pod, signal: AbortSignal) {
      await publish(volume, { ...setup, pod }, deps, signal);
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
  const object = await csi.driverObjects.find(volume.driver, signal);
  if (isPublished && !needsRepublish(object)) return;
  const context =
    volume.lifecycle === 'Ephemeral' ? {} : await attachAndStage(volume, needsAttach(object), setup, deps, signal);
  const turn = volume.lifecycle === 'Ephemeral' ? volume.handle : volume.id;
  await csi.uses.inTurn(turn, () => publishVolume(volume, setup, context, deps, signal), signal);
  csi.uses.setPublished(use, true);
}

/** Resolves to the publish context. */
async function attachAndStage(
  volume: PersistentCsiVolume,
  isAttached: boolean,
  setup: VolumeSetup,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<Strings> {
  const { csi, attachedVolumes, nodeVolumes, settings } = deps;
  const { id, name } = volume;
  const { uid: podUid } = setup.pod.metadata;
  const use = { id, podUid, name };
  csi.uses.add(use);
  const context = isAttached
    ? await inStep(
        'MountVolume.WaitForAttach',
        async () => {
          await attachedVolumes.waitUntilAttached(id, signal);
          return publishContextOf(volume, deps, signal);
        },
        signal,
      )
    : {};
  const users = await nodeVolumes.usersOf(id, signal);
  const isShared = csi.uses.hasOther(use) || [...users].some((each) => each !== podUid);
  if (isShared && isExclusive(volume)) {
    const message = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';
    throw new VolumeError('MountVolume.SetUp', message);
  }
  csi.uses.begin(use);
  await makeFolder(podVolumePaths(settings.rootDir, podUid, name), deps);
  await stageVolume(volume, setup, context, deps, signal);
  return context;
}

/** With several access modes it is unknown which one the pod means. */
function isExclusive({ accessModes }: PersistentCsiVolume): boolean {
  return accessModes?.length === 1 && accessModes[0] === 'ReadWriteOncePod';
}
