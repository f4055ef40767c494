import { goErrorText } from '../../../plugins/plugin-error.ts';
import { migrateToCsi } from '../csi-migration/csi-migration.ts';
import { inStep, VolumeError } from '../volume-error.ts';
import type { VolumeSetup } from '../volume-plugin.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { blockPaths, stagingPaths } from './csi-paths.ts';
import { type CsiVolume, type PersistentCsiVolume, persistentVolumeOf } from './csi-volume.ts';
import { expandVolume } from './expand-volume.ts';

const STEPS = {
  Filesystem: 'MountVolume.Setup failed while expanding volume',
  Block: 'MapVolume.MarkVolumeAsMounted failed while expanding volume',
} as const;

/** Expands a volume that has just been published at `path`. The pod does not get a volume that is too small. */
export async function expandDuringSetUp(
  volume: CsiVolume,
  { pod, volume: { mode, bound } }: VolumeSetup,
  path: string,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  if (volume.lifecycle === 'Ephemeral' || !bound) return;
  const paths = { staging: stagingPathOf(volume, mode, deps), volume: path };
  const target = { volume, claim: bound.claim, pod, mode, paths };
  await inStep(STEPS[mode], () => expandVolume(target, deps, signal), signal);
}

/** Expands a volume that the pod is using at `path`. The pod keeps it if this fails, as a `VolumeResizeFailed` event says. */
export async function expandInUse(
  volume: CsiVolume,
  { pod, volume: { mode, bound } }: VolumeSetup,
  path: string,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { csi, events } = deps;
  const { api } = csi;
  if (volume.lifecycle === 'Ephemeral' || !bound || !api) return;
  const { name, namespace = '' } = bound.claim.metadata;
  try {
    const pv = await api.get({ resource: 'persistentvolumes', namespace: '', name: volume.name }, signal);
    const grown = persistentVolumeOf(migrateToCsi(pv), volume);
    if (grown?.id !== volume.id) return;
    const claim = await api.get({ resource: 'persistentvolumeclaims', namespace, name }, signal);
    const paths = { staging: stagingPathOf(volume, mode, deps), volume: path };
    await expandVolume({ volume: grown, claim, pod, mode, paths }, deps, signal);
  } catch (error) {
    signal.throwIfAborted();
    const text = error instanceof VolumeError ? error.message : goErrorText(error);
    const message = `NodeExpandVolume.NodeExpandVolume failed for volume "${volume.name}" : ${text}`;
    events.record(pod, 'Warning', 'VolumeResizeFailed', message);
  }
}

function stagingPathOf({ driver, handle, name }: PersistentCsiVolume, mode: string, deps: CsiPluginDeps): string {
  const { rootDir } = deps.settings;
  return mode === 'Block' ? blockPaths(rootDir, name).staging : stagingPaths(rootDir, driver, handle).mount;
}
