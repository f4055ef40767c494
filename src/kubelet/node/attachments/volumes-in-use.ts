import { byCodePoint } from '../../../base/code-point-order.ts';

/** The inputs of the node's `volumesInUse`. */
export interface VolumesInUse {
  /** Attachable volumes that pods use or wait for. */
  readonly used: readonly string[];
  /** Mounted by earlier processes. They may not be attachable: only those that were reported before are reported again. */
  readonly leftOver: readonly string[];
}

/** The node's `volumesInUse`, in kubelet's order. */
export function volumesInUse(before: readonly string[] = [], view: VolumesInUse | undefined): readonly string[] {
  if (!view) return before;
  const kept = view.leftOver.filter((id) => before.includes(id));
  return [...new Set([...view.used, ...kept])].sort(byCodePoint);
}
