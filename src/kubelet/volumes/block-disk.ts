import { dirname } from 'node:path';
import { podDirectory } from '../pod/pod-paths.ts';
import { mapBlockDevice, unmapBlockDevice } from './block-device.ts';
import { applyFsGroup } from './fs-group.ts';
import { makeNodeDirectory } from './make-node-directory.ts';
import { bindMount, mountReferences } from './mount-helper/bind-mount.ts';
import { formatAndMount } from './mount-helper/format-and-mount.ts';
import { joinMountOptions, mountOptionsOf } from './mount-helper/mount-options.ts';
import { inStep } from './volume-error.ts';
import { pluginFolder, volumeDevicePath, volumePath } from './volume-paths.ts';
import type { HostDevice, MountedVolume, VolumeOnDisk, VolumePluginDeps, VolumeSetup } from './volume-plugin.ts';
import { isExclusive } from './volume-spec.ts';

const UNINTERRUPTED = new AbortController().signal;

/** A disk of a storage network, which is connected to the node for its first pod. */
export interface NetworkDisk {
  /** The name of its plugin. */
  readonly plugin: string;
  /** kubelet's unique volume name. */
  readonly id: string;
  /** The directory of the node: the mount point, or that of the files of mode `Block`. */
  readonly nodePath: string;
  readonly fsType: string;
  readonly readOnly: boolean;
  /** Connects the disk and returns the path of its device. Idempotent. */
  attach(signal: AbortSignal): Promise<string>;
}

/** Disconnects a disk, of which only the directory of the node is known. The device is not mounted any more. */
export type DetachDisk = (nodePath: string, signal: AbortSignal) => Promise<void>;

/** The record of a pod's disk: its directory does not name it. */
interface DiskRecord {
  readonly id: string;
  readonly nodePath: string;
}

/** Mounts a disk once for the node, and binds it for the pod. */
export async function mountDisk(
  disk: NetworkDisk,
  setup: VolumeSetup,
  deps: VolumePluginDeps,
  signal: AbortSignal,
): Promise<MountedVolume> {
  const { pod, volume, mountPoints } = setup;
  const { uid } = pod.metadata;
  const path = volumePath(deps.settings.rootDir, uid, disk.plugin, volume.name);
  await makeNodeDirectory(path, deps);
  await useDisk(disk, setup, deps, signal, async () => {
    if (await isMounted(disk.nodePath, deps)) return;
    const device = await inStep('MountVolume.WaitForAttach', () => disk.attach(signal), signal);
    const options = joinMountOptions(mountOptionsOf(volume.bound?.volume), disk.readOnly ? ['ro'] : []);
    const request = { source: device, target: disk.nodePath, type: disk.fsType, options };
    await inStep('MountVolume.MountDevice', () => formatAndMount(request, deps, signal), signal);
  });
  if (!mountPoints.includes(path)) {
    const bind = () => bindForPod(disk, path, setup, deps);
    await deps.nodeVolumes.exclusively(disk.id, bind, signal);
  }
  return { path, readOnly: disk.readOnly, marker: path };
}

/** Connects a disk once for the node, and maps its device for the pod. */
export async function mapDisk(
  disk: NetworkDisk,
  setup: VolumeSetup,
  deps: VolumePluginDeps,
  signal: AbortSignal,
): Promise<HostDevice> {
  const { pod, volume } = setup;
  const link = volumeDevicePath(deps.settings.rootDir, pod.metadata.uid, disk.plugin, volume.name);
  await makeNodeDirectory(dirname(link), deps);
  // Shows that there is something to unmap, until it is replaced by the link.
  if (!(await deps.fs.lstat(link))) await deps.fs.writeFile(link, '');
  let device = '';
  await useDisk(disk, setup, deps, signal, async () => {
    device = await inStep('MapVolume.WaitForAttach', () => disk.attach(signal), signal);
  });
  // Connected for another pod.
  if (device === '') device = await inStep('MapVolume.WaitForAttach', () => disk.attach(signal), signal);
  const mapping = { podUid: pod.metadata.uid, globalMapPath: disk.nodePath, link };
  return mapBlockDevice(device, mapping, disk.readOnly, deps, signal);
}

/** Unmounts the disk from the pod, and disconnects it after its last pod. */
export async function tearDownDisk(
  plugin: string,
  volume: VolumeOnDisk,
  detach: DetachDisk,
  deps: VolumePluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const record = (await readRecord(plugin, volume, deps)) ?? (await recordOfMount(plugin, volume, deps));
  if (record === undefined) return deps.mounts.unmount(volume.path);
  const { id, nodePath } = record;
  await deps.nodeVolumes.exclusively(id, () => deps.mounts.unmount(volume.path), signal);
  const release = async (): Promise<void> => {
    // Also pods of which there is no record, such as those of kubelet.
    if (await isUsedByPods(nodePath, deps)) return;
    if (await deps.fs.lstat(nodePath)) await deps.mounts.unmount(nodePath);
    await detach(nodePath, signal);
    await deps.fs.removeTree(nodePath);
    deps.attachedVolumes.release(id);
  };
  await deps.nodeVolumes.stopUsing({ id, podUid: volume.podUid }, release, signal);
}

export async function unmapDisk(
  plugin: string,
  volume: VolumeOnDisk,
  detach: DetachDisk,
  deps: VolumePluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const record = await readRecord(plugin, volume, deps);
  if (record === undefined) return deps.fs.remove(volume.path);
  const { id, nodePath } = record;
  const mapping = { podUid: volume.podUid, globalMapPath: nodePath, link: volume.path };
  await unmapBlockDevice(mapping, deps, signal);
  const release = async (): Promise<void> => {
    await detach(nodePath, signal);
    await deps.fs.removeTree(nodePath);
    deps.attachedVolumes.release(id);
  };
  await deps.nodeVolumes.stopUsing({ id, podUid: volume.podUid }, release, signal);
}

export async function diskIdOf(
  plugin: string,
  volume: VolumeOnDisk,
  deps: Pick<VolumePluginDeps, 'fs'>,
): Promise<string | undefined> {
  return (await readRecord(plugin, volume, deps))?.id;
}

/** Waits for the controller, as kubelet does: it reports disks that need no attachment at once. */
async function useDisk(
  disk: NetworkDisk,
  { pod, volume }: VolumeSetup,
  deps: VolumePluginDeps,
  signal: AbortSignal,
  attach: () => Promise<void>,
): Promise<void> {
  const podUid = pod.metadata.uid;
  const use = { id: disk.id, podUid, isExclusive: isExclusive(volume) };
  const last = volume.mode === 'Block' ? 'MapVolume.SetUpDevice' : 'MountVolume.SetUp';
  await inStep(last, () => deps.nodeVolumes.checkShareable(use, signal), signal);
  const record: DiskRecord = { id: disk.id, nodePath: disk.nodePath };
  const file = recordFile(podDirectory(deps.settings.rootDir, podUid), disk.plugin, volume.name);
  await makeNodeDirectory(dirname(file), deps);
  await deps.fs.writeAtomic(file, JSON.stringify(record));
  await deps.attachedVolumes.waitUntilAttached(disk.id, signal);
  await inStep(last, () => deps.nodeVolumes.use(use, attach, signal), signal);
}

/** The group is changed before the mount, so what is mounted is complete. Continues if the pod does not wait any longer. */
async function bindForPod(
  { nodePath, readOnly }: NetworkDisk,
  target: string,
  { pod, volume }: VolumeSetup,
  deps: VolumePluginDeps,
): Promise<void> {
  if (await isMounted(target, deps)) return;
  if (!readOnly) await applyFsGroup(deps, nodePath, { pod, access: 'write', shownPath: target }, UNINTERRUPTED);
  const options = joinMountOptions(mountOptionsOf(volume.bound?.volume), readOnly ? ['ro'] : []);
  await bindMount({ source: nodePath, target, options }, deps, UNINTERRUPTED);
}

async function isMounted(path: string, { fs, mounts }: VolumePluginDeps): Promise<boolean> {
  if (!(await fs.lstat(path))) return false;
  const real = await fs.realPath(path);
  return (await mounts.list()).some(({ target }) => target === real);
}

async function isUsedByPods(nodePath: string, { fs, mounts, settings }: VolumePluginDeps): Promise<boolean> {
  if (!(await fs.lstat(nodePath))) return false;
  const pods = `${await fs.realPath(settings.rootDir)}/pods/`;
  const real = await fs.realPath(nodePath);
  const entries = await mounts.list();
  return (
    entries.some(({ target }) => target === real) &&
    mountReferences(entries, real).some((each) => each.startsWith(pods))
  );
}

async function readRecord(
  plugin: string,
  { path, name }: VolumeOnDisk,
  { fs }: Pick<VolumePluginDeps, 'fs'>,
): Promise<DiskRecord | undefined> {
  // PODS/UID/volumes/PLUGIN/NAME
  const file = recordFile(dirname(dirname(dirname(path))), plugin, name);
  if (!(await fs.lstat(file))) return undefined;
  const record: unknown = JSON.parse(await fs.readText(file));
  return isRecord(record) ? record : undefined;
}

/** For a pod without a record, which kubelet has set up: its mount shows the same disk as that of the node. */
async function recordOfMount(
  plugin: string,
  { path }: VolumeOnDisk,
  { fs, mounts, settings }: VolumePluginDeps,
): Promise<DiskRecord | undefined> {
  const folder = `${await fs.realPath(settings.rootDir)}/plugins/${plugin}/`;
  const references = mountReferences(await mounts.list(), await fs.realPath(path));
  const nodePath = references.find((each) => each.startsWith(folder));
  return nodePath === undefined ? undefined : { id: nodePath, nodePath };
}

function isRecord(value: unknown): value is DiskRecord {
  const { id, nodePath } = (value ?? {}) as Partial<Record<keyof DiskRecord, unknown>>;
  return typeof id === 'string' && typeof nodePath === 'string';
}

function recordFile(podFolder: string, plugin: string, name: string): string {
  return `${podFolder}/plugins/${pluginFolder(plugin)}/${pluginFolder(name)}/disk.json`;
}
