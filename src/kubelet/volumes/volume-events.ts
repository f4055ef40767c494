import { dirname } from 'node:path/posix';
import type { Pod } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import { volumeReference } from '../events/object-references.ts';
import type { PodEvents } from '../events/pod-events.ts';
import { isFilesystemMismatch } from './mount-helper/format-and-mount.ts';
import type { HostDevice } from './volume-plugin.ts';
import type { VolumeSpec } from './volume-spec.ts';

/** An event of the persistent volume, if its device has a file system of another type than it says. */
export function recordMismatch({ name, bound }: VolumeSpec, error: unknown, events: Pick<PodEvents, 'recordOf'>): void {
  if (!bound || !isFilesystemMismatch(error)) return;
  const message = `MountVolume failed for volume "${name}" ${errorText(error)}`;
  events.recordOf(volumeReference(bound.volume), 'Warning', 'FailedMountOnFilesystemMismatch', message);
}

/** kubelet's two events of a block device that the pod gets. */
export function recordMapped(
  pod: Pod,
  { name }: VolumeSpec,
  { path, globalMapPath }: HostDevice,
  events: Pick<PodEvents, 'record'>,
): void {
  for (const where of [`globalMapPath "${globalMapPath}"`, `volumeMapPath "${dirname(path)}"`]) {
    const message = `MapVolume.MapPodDevice succeeded for volume "${name}" ${where}`;
    events.record(pod, 'Normal', 'SuccessfulMountVolume', message);
  }
}
