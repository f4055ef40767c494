import type { VolumeStep } from '../volume-error.ts';
import { inStep, VolumeError } from '../volume-error.ts';
import type { VolumeSetup } from '../volume-plugin.ts';
import { isExclusive } from '../volume-spec.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { publishContextOf } from './csi-objects.ts';
import type { PersistentCsiVolume } from './csi-volume.ts';
import { needsAttach } from './driver-object.ts';

const STEPS = {
  Filesystem: { wait: 'MountVolume.WaitForAttach', inUse: 'MountVolume.SetUp' },
  Block: { wait: 'MapVolume.WaitForAttach', inUse: 'MapVolume.SetUpDevice' },
} as const satisfies Record<string, Record<string, VolumeStep>>;

/** kubelet's error. */
const NOT_BY_NODE = 'attaching volumes from the kubelet is not supported';

/**
 * Waits until the volume is attached, and resolves to the publish context. From here on the pod may have the volume
 * staged, so `mark` comes before: it makes what the release of the pod finds.
 */
export async function attachVolume(
  volume: PersistentCsiVolume,
  { pod, volume: spec }: VolumeSetup,
  mark: () => Promise<void>,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const { csi, attachedVolumes, nodeVolumes } = deps;
  const { id, name, driver } = volume;
  const { uid: podUid } = pod.metadata;
  const use = { id, podUid, name };
  const steps = STEPS[spec.mode];
  csi.uses.add(use);
  const wait = async (): Promise<Readonly<Record<string, string>>> => {
    if (!needsAttach(await csi.driverObjects.find(driver, signal))) return {};
    if (csi.controllerAttaches === false) throw new VolumeError('AttachVolume.Attach', NOT_BY_NODE);
    await attachedVolumes.waitUntilAttached(id, signal);
    return publishContextOf(volume, deps, signal);
  };
  const context = await inStep(steps.wait, wait, signal);
  const request = { id, podUid, isExclusive: isExclusive(spec) };
  await inStep(steps.inUse, () => nodeVolumes.checkShareable(request, signal), signal);
  await mark();
  csi.uses.begin(use);
  return context;
}
