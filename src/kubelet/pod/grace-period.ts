import type { Pod } from '../../api/generated/core-v1.ts';

const DEFAULT_GRACE_SECONDS = 30;

/** The grace period of the pod's deletion, else that of its spec. */
export function deletionGracePeriod({ metadata, spec }: Pod): number {
  return metadata.deletionGracePeriodSeconds ?? specGracePeriod({ spec });
}

/** The grace period of the pod's spec. */
export function specGracePeriod({ spec }: Pick<Pod, 'spec'>): number {
  return spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}
