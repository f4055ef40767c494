import { waitForAll } from '../../sync/wait-for-all.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { driversDirectory, stagingPathsIn } from './csi-paths.ts';
import { unstageVolume } from './stage-volume.ts';
import { stopUsing } from './stop-using.ts';
import { idOf, loadVolumeData } from './volume-data.ts';

/**
 * Unstages volumes that no pod uses: an earlier process ended between unpublishing and unstaging them. All are tried, then
 * the first error is thrown. A folder without a readable `vol_data.json` stays: its volume is unknown.
 */
export async function removeOrphans(deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const drivers = driversDirectory(deps.settings.rootDir);
  const work: Promise<void>[] = [];
  for (const driver of await foldersIn(drivers, deps)) {
    if (driver === 'volumeDevices') continue;
    for (const hash of await foldersIn(`${drivers}/${driver}`, deps)) {
      work.push(removeOrphan(stagingPathsIn(`${drivers}/${driver}/${hash}`).data, deps, signal));
    }
  }
  await waitForAll(work);
}

async function removeOrphan(dataFile: string, deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const volume = await loadVolumeData(dataFile, deps.fs).catch(() => undefined);
  const id = volume && idOf(volume);
  if (!volume || id === undefined || deps.csi.uses.isNeeded(id)) return;
  if ((await deps.nodeVolumes.usersOf(id, signal)).size > 0) return;
  await unstageVolume(volume, '', deps, signal);
  await stopUsing({ id, podUid: '', name: '' }, deps, signal);
}

export async function foldersIn(path: string, { fs }: Pick<CsiPluginDeps, 'fs'>): Promise<readonly string[]> {
  if (!(await fs.stat(path))) return [];
  const entries = await fs.readDirectory(path);
  return entries.filter(({ kind }) => kind === 'directory').map(({ name }) => name);
}
