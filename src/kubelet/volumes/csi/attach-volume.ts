import { VolumeError, type VolumeStep } from '../volume-error.ts';
import type { VolumeSetup } from '../volume-plugin.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { inStep } from './csi-errors.ts';
import { publishContextOf } from './csi-objects.ts';
import type { PersistentCsiVolume } from './csi-volume.ts';
import { needsAttach } from './driver-object.ts';

const STEPS = {
  Filesystem: { wait: 'MountVolume.WaitForAttach', inUse: 'MountVolume.SetUp' },
  Block: { wait: 'MapVolume.WaitForAttach', inUse: 'MapVolume.SetUpDevice' },
} as const satisfies Record<string, Record<string, VolumeStep>>;

/**
 * Waits until the volume is attached, and resolves to the publish context. From here on the pod may have the volume
 * staged, so `mark` comes before: it makes what the release of the pod finds.
 */
export async function attachVolume(
  volume: PersistentCsiVolume,
  { pod, volume: { mode } }: VolumeSetup,
  mark: () => Promise<void>,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { csi, attachedVolumes, nodeVolumes } = deps;
  const { id, name, driver } = volume;
  const { uid: podUid } = pod.metadata;
  const use = { id, podUid, name };
  const steps = STEPS[mode];
  csi.uses.add(use);
  const wait = async (): Promise<Readonly<Record<string, string>>> => {
    if (!needsAttach(await csi.driverObjects.find(driver, signal))) return {};
    await attachedVolumes.waitUntilAttached(id, signal);
    return publishContextOf(volume, deps, signal);
  };
  const context = await inStep(steps.wait, wait, signal);
  await mark();
  const users = await nodeVolumes.usersOf(id, signal);
  const isShared = csi.uses.hasOther(use) || [...users].some((each) => each !== podUid);
  if (isShared && isExclusive(volume)) {
    const message = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';
    throw new VolumeError(steps.inUse, message);
  }
  csi.uses.begin(use);
  return context;
}

/** With several access modes it is unknown which one the pod means. */
function isExclusive({ accessModes }: PersistentCsiVolume): boolean {
  return accessModes?.length === 1 && accessModes[0] === 'ReadWriteOncePod';
}
