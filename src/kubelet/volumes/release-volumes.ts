import { podDirectory } from '../pod/pod-paths.ts';
import { waitForAll } from '../sync/wait-for-all.ts';
import { measuredPlugin } from './measured-plugin.ts';
import { innermostFirst, mountPointsBelow } from './mount-points.ts';
import type { NodeVolumeUse } from './node-volumes.ts';
import { pluginsDirectory, subPathsDirectory, volumeDevicesDirectory, volumesDirectory } from './volume-paths.ts';
import type { VolumeOnDisk, VolumePlugin, VolumePluginDeps } from './volume-plugin.ts';
import { findVolumePlugin, pluginOfFolder } from './volume-plugins.ts';
import type { VolumeSpec } from './volume-spec.ts';

type Files = Pick<VolumePluginDeps, 'fs' | 'plugins'>;

/**
 * Removes the volumes of a pod, found by its directory. Nothing is removed through a mount. `specs`: the volumes of which more
 * than the directory is known.
 */
export async function releaseVolumes(
  { uid, specs }: { readonly uid: string; readonly specs: readonly VolumeSpec[] },
  deps: VolumePluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, settings } = deps;
  const subPaths = subPathsDirectory(settings.rootDir, uid);
  const volumes = volumesDirectory(settings.rootDir, uid);
  const devices = volumeDevicesDirectory(settings.rootDir, uid);
  const measured = (plugin: VolumePlugin, { name }: VolumeOnDisk): ReturnType<typeof measuredPlugin> => {
    const spec = specs.find((each) => each.name === name && findVolumePlugin(each, deps.plugins) === plugin);
    return measuredPlugin(plugin, spec, deps.clock);
  };
  await unmountBelow(uid, [subPaths], deps, signal);
  await Promise.all([
    forEachVolume(uid, volumes, deps, async (plugin, volume) => {
      const tearDown = async (): Promise<void> => plugin.tearDown?.(volume, deps, signal);
      await measured(plugin, volume)('volume_unmount', tearDown);
    }),
    forEachVolume(uid, devices, deps, async (plugin, volume) => {
      const unmap = async (): Promise<void> => plugin.unmapDevice?.(volume, deps, signal);
      await measured(plugin, volume)('unmap_volume', unmap);
    }),
  ]);
  await unmountBelow(uid, [volumes, devices], deps, signal);
  // The ready files go first: a half-removed volume must not count as set up.
  await fs.removeTree(pluginsDirectory(settings.rootDir, uid));
  for (const folder of [subPaths, volumes, devices]) await fs.removeTree(folder);
}

/** The volumes of the node that pods use, by their directories. */
export async function nodeVolumesOnDisk(rootDir: string, deps: Files): Promise<readonly NodeVolumeUse[]> {
  const uses: NodeVolumeUse[] = [];
  for (const podUid of await namesIn(`${rootDir}/pods`, deps)) {
    for (const folder of [volumesDirectory(rootDir, podUid), volumeDevicesDirectory(rootDir, podUid)]) {
      await forEachVolume(podUid, folder, deps, async (plugin, volume) => {
        const id = await plugin.nodeVolumeOf?.(volume, deps);
        if (id !== undefined) uses.push({ id, podUid });
      });
    }
  }
  return uses;
}

async function unmountBelow(
  uid: string,
  folders: readonly string[],
  deps: VolumePluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const mountPoints = await mountPointsBelow(podDirectory(deps.settings.rootDir, uid), deps);
  const ours = mountPoints.filter((each) => folders.some((folder) => each.startsWith(`${folder}/`)));
  for (const group of innermostFirst(ours)) {
    signal.throwIfAborted();
    await waitForAll(group.map((path) => deps.mounts.unmount(path)));
  }
}

/** Calls `work` for all `PLUGIN/VOLUME` below a folder at once. All are tried, then the first error is thrown. */
async function forEachVolume(
  podUid: string,
  folder: string,
  deps: Files,
  work: (plugin: VolumePlugin, volume: VolumeOnDisk) => Promise<void> | undefined,
): Promise<void> {
  const found: Promise<void>[] = [];
  for (const pluginName of await namesIn(folder, deps)) {
    const plugin = pluginOfFolder(pluginName, deps.plugins);
    if (!plugin) continue;
    for (const escaped of await namesIn(`${folder}/${pluginName}`, deps)) {
      const volume = { podUid, name: escaped.replaceAll('~', '/'), path: `${folder}/${pluginName}/${escaped}` };
      found.push(Promise.resolve(work(plugin, volume)));
    }
  }
  await waitForAll(found);
}

async function namesIn(folder: string, { fs }: Pick<Files, 'fs'>): Promise<readonly string[]> {
  if (!(await fs.lstat(folder))) return [];
  return (await fs.readDirectory(folder)).map(({ name }) => name);
}
