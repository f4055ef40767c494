import { waitForAll } from '../../sync/wait-for-all.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { blockPaths, driversDirectory, stagingPathsIn } from './csi-paths.ts';
import { type StagedVolume, unstageVolume } from './stage-volume.ts';
import { releaseVolume } from './stop-using.ts';
import { unstageBlockVolume } from './unmap-device.ts';
import { idOf, loadVolumeData } from './volume-data.ts';

/**
 * Unstages volumes that no pod uses: an earlier process ended between unpublishing and unstaging them, or the driver could
 * not unstage them after their last pod. All are tried, then
 * the first error is thrown. A folder without a readable `vol_data.json` stays: its volume is unknown.
 */
export async function removeOrphans(deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const drivers = driversDirectory(deps.settings.rootDir);
  const work: Promise<void>[] = [];
  const unstage = (volume: StagedVolume): Promise<void> => unstageVolume(volume, '', deps, signal);
  for (const driver of await foldersIn(drivers, deps)) {
    if (driver === DEVICES) continue;
    for (const hash of await foldersIn(`${drivers}/${driver}`, deps)) {
      work.push(removeOrphan(stagingPathsIn(`${drivers}/${driver}/${hash}`).data, unstage, deps, signal));
    }
  }
  for (const folder of await foldersIn(`${drivers}/${DEVICES}`, deps)) {
    const name = folder.replaceAll('~', '/');
    const { data } = blockPaths(deps.settings.rootDir, name);
    const unstage = (volume: StagedVolume): Promise<void> =>
      unstageBlockVolume(volume, { podUid: '', name }, deps, signal);
    work.push(removeOrphan(data, unstage, deps, signal));
  }
  await waitForAll(work);
}

const DEVICES = 'volumeDevices';

async function removeOrphan(
  dataFile: string,
  unstage: (volume: StagedVolume) => Promise<void>,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const volume = await loadVolumeData(dataFile, deps.fs).catch(() => undefined);
  const id = volume && idOf(volume);
  if (!volume || id === undefined || deps.csi.uses.isNeeded(id)) return;
  if ((await deps.nodeVolumes.usersOf(id, signal)).size > 0) return;
  await unstage(volume);
  await releaseVolume({ id, podUid: '', name: '' }, deps, signal);
}

async function foldersIn(path: string, { fs }: Pick<CsiPluginDeps, 'fs'>): Promise<readonly string[]> {
  if (!(await fs.stat(path))) return [];
  const entries = await fs.readDirectory(path);
  return entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name);
}
