import type { PersistentVolume } from '../../../api/generated/core-v1.ts';
import { byCodePoint } from '../../../base/code-point-order.ts';

const OPTIONS_ANNOTATION = 'volume.beta.kubernetes.io/mount-options';

/** The mount options of a persistent volume, as its annotation or its spec has them. */
export function mountOptionsOf(volume: PersistentVolume | undefined): readonly string[] {
  const annotation = volume?.metadata.annotations?.[OPTIONS_ANNOTATION];
  return annotation !== undefined ? annotation.split(',') : (volume?.spec.mountOptions ?? []);
}

/** Without duplicates, in kubelet's order. */
export function joinMountOptions(...lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())].filter((option) => option !== '').sort(byCodePoint);
}
