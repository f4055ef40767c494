import type { LocalVolumeSource } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { mapBlockDevice, unmapBlockDevice } from './block-device.ts';
import { applyFsGroup } from './fs-group.ts';
import { makeNodeDirectory } from './make-node-directory.ts';
import { bindMount, mountReferences } from './mount-helper/bind-mount.ts';
import { formatAndMount } from './mount-helper/format-and-mount.ts';
import { joinMountOptions, mountOptionsOf } from './mount-helper/mount-options.ts';
import { VolumeError } from './volume-error.ts';
import { nodePluginDirectory, pluginFolder, volumeDevicePath, volumePath } from './volume-paths.ts';
import { type VolumeOnDisk, type VolumePluginDeps, type VolumeSetup, volumePlugin } from './volume-plugin.ts';
import { isExclusive } from './volume-spec.ts';

const PLUGIN = 'kubernetes.io/local-volume';
const DEFAULT_TYPE = 'ext4';
const UNINTERRUPTED = new AbortController().signal;

/** A directory or a block device of this node, as a persistent volume. */
export const localVolumePlugin = volumePlugin<LocalVolumeSource>({
  name: PLUGIN,
  supportsRelabel: true,
  source: ({ bound }) => bound?.volume.spec.local,
  setUp,
  async tearDown(volume, deps, signal) {
    const use = { id: volumeId(volume.name), podUid: volume.podUid };
    await deps.nodeVolumes.exclusively(use.id, () => deps.mounts.unmount(volume.path), signal);
    await deps.nodeVolumes.stopUsing(use, () => unmountDevice(volume, deps), signal);
  },
  async mapDevice(source, { pod, volume }, deps, signal) {
    const use = { id: volumeId(volume.name), podUid: pod.metadata.uid, isExclusive: isExclusive(volume) };
    await deps.nodeVolumes
      .use(use, async () => undefined, signal)
      .catch((cause: unknown) => {
        signal.throwIfAborted();
        throw new VolumeError('MapVolume.SetUpDevice', errorText(cause), undefined, { cause });
      });
    const mapping = blockMapping(pod.metadata.uid, volume.name, deps);
    return mapBlockDevice(source.path, mapping, volume.readOnly, deps, signal);
  },
  async unmapDevice({ podUid, name }, deps, signal) {
    const mapping = blockMapping(podUid, name, deps);
    await unmapBlockDevice(mapping, deps, signal);
    const removeFolder = () => removeIfEmpty(mapping.globalMapPath, deps);
    await deps.nodeVolumes.stopUsing({ id: volumeId(name), podUid }, removeFolder, signal);
  },
  // Also for a directory or a device of mode `Block`, which have no mount of the node.
  nodeVolumeOf: async ({ name }) => volumeId(name),
});

async function setUp(source: LocalVolumeSource, setup: VolumeSetup, deps: VolumePluginDeps, signal: AbortSignal) {
  const { pod, volume, mountPoints } = setup;
  const { readOnly } = volume;
  const path = volumePath(deps.settings.rootDir, pod.metadata.uid, PLUGIN, volume.name);
  const kind = await kindOf(source.path, deps);
  const use = { id: volumeId(volume.name), podUid: pod.metadata.uid, isExclusive: isExclusive(volume) };
  const mount = async (): Promise<void> => {
    if (kind === 'blockDevice') await mountDevice(source, setup, deps, signal);
  };
  await deps.nodeVolumes.use(use, mount, signal);
  const shared = kind === 'blockDevice' ? deviceMountPath(volume.name, deps) : source.path;
  if (shared.split('/').includes('..')) throw new Error(`invalid path: ${shared} must not contain '..'`);
  if (!mountPoints.includes(path)) {
    // Shows that there is something to tear down, from now on.
    await makeNodeDirectory(path, deps);
    const bind = () => bindForPod(shared, path, setup, deps);
    await deps.nodeVolumes.exclusively(volumeId(volume.name), bind, signal);
  }
  return { path, readOnly, marker: path };
}

/** Rejects with kubelet's message for other kinds than directories and block devices. */
async function kindOf(path: string, { fs }: VolumePluginDeps): Promise<'directory' | 'blockDevice'> {
  const failed = (message: string): VolumeError => new VolumeError('MountVolume.NewMounter initialization', message);
  if (path === '') throw failed('local volume source is nil or local path is not set');
  const kind = (await fs.stat(path))?.kind;
  if (kind === undefined) throw failed(`path "${path}" does not exist`);
  if (kind !== 'directory' && kind !== 'blockDevice') throw failed('only directory and block device are supported');
  return kind;
}

/** Mounts the device once for all pods. */
async function mountDevice(
  { path, fsType }: LocalVolumeSource,
  { volume }: VolumeSetup,
  deps: VolumePluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, mounts } = deps;
  const target = deviceMountPath(volume.name, deps);
  await makeNodeDirectory(target, deps);
  const real = await fs.realPath(target);
  if ((await mounts.list()).some((entry) => entry.target === real)) return;
  const type = fsType ?? DEFAULT_TYPE;
  const options = joinMountOptions(mountOptionsOf(volume.bound?.volume), volume.readOnly ? ['ro'] : []);
  try {
    await formatAndMount({ source: path, target, type, options }, deps, signal);
  } catch (cause) {
    signal.throwIfAborted();
    await fs.remove(target).catch(() => undefined); // the first error is the cause
    const message = `local: failed to mount device ${path} at ${target} (fstype: ${type}), error ${errorText(cause)}`;
    throw new VolumeError('MountVolume.MountDevice', message, podCauseOf(cause), { cause });
  }
}

async function unmountDevice({ name }: VolumeOnDisk, deps: VolumePluginDeps): Promise<void> {
  const target = deviceMountPath(name, deps);
  if (!(await deps.fs.lstat(target))) return;
  await deps.mounts.unmount(target);
  await deps.fs.remove(target);
}

/**
 * Only the first pod that mounts the volume changes its group: the others may be running. The group is changed before the
 * mount, so what is mounted is complete. Continues if the pod does not wait any longer, as in kubelet: a volume with many
 * files would never be done otherwise.
 */
async function bindForPod(
  source: string,
  target: string,
  { pod, volume }: VolumeSetup,
  deps: VolumePluginDeps,
): Promise<void> {
  const { fs, mounts, events, settings } = deps;
  const entries = await mounts.list();
  const realTarget = await fs.realPath(target);
  if (entries.some((entry) => entry.target === realTarget)) return;
  const pods = `${await fs.realPath(settings.rootDir)}/pods/`;
  const otherPods = mountReferences(entries, await fs.realPath(source)).filter((each) => each.startsWith(pods));
  const fsGroup = pod.spec.securityContext?.fsGroup;
  const gid = (await fs.stat(source))?.gid;
  if (fsGroup !== undefined && otherPods.length > 0 && gid !== fsGroup) {
    const message = `The requested fsGroup is ${fsGroup}, but the volume ${volume.name} has GID ${gid}. The volume may not be shareable.`;
    events.record(pod, 'Warning', 'AlreadyMountedVolume', message);
  }
  const options = joinMountOptions(volume.readOnly ? ['ro'] : [], mountOptionsOf(volume.bound?.volume));
  if (!volume.readOnly && otherPods.length === 0) {
    await applyFsGroup(deps, source, { pod, access: 'write', shownPath: target }, UNINTERRUPTED);
  }
  await bindMount({ source, target, options }, deps, UNINTERRUPTED);
}

/** kubelet's unique volume name. */
function volumeId(name: string): string {
  return `${PLUGIN}/${name}`;
}

function deviceMountPath(name: string, { settings }: VolumePluginDeps): string {
  return `${nodePluginDirectory(settings.rootDir, PLUGIN)}/mounts/${name}`;
}

function blockMapping(podUid: string, name: string, { settings: { rootDir } }: VolumePluginDeps) {
  return {
    podUid,
    globalMapPath: `${rootDir}/plugins/${pluginFolder(PLUGIN)}/volumeDevices/${name}`,
    link: volumeDevicePath(rootDir, podUid, PLUGIN, name),
  };
}

async function removeIfEmpty(folder: string, { fs }: VolumePluginDeps): Promise<void> {
  if (!(await fs.lstat(folder)) || (await fs.readDirectory(folder)).length > 0) return;
  await fs.remove(folder);
}
