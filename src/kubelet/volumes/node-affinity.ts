import { matchesNodeSelector } from '../../api/node-selector.ts';
import { PodError } from '../pod/pod-error.ts';
import type { VolumeSpec } from './volume-spec.ts';

/** Throws kubelet's error for a persistent volume that this node must not use: the scheduler was bypassed. */
export function checkNodeAffinity(
  { name, volume, bound, mode }: VolumeSpec,
  labels: Readonly<Record<string, string>>,
): void {
  const required = bound?.volume.spec.nodeAffinity?.required;
  if (!required || matchesNodeSelector(required, { nodeName: '', labels })) return;
  const step = mode === 'Block' ? 'MapVolume' : 'MountVolume';
  const message = `${step}.NodeAffinity check failed for volume "${name}" : no matching NodeSelectorTerms`;
  const cause = { kind: 'volumeOfOtherNode' } as const;
  throw new PodError('FailedMount', message, { podCause: { kind: 'volumeFailed', volume: volume.name, cause } });
}
