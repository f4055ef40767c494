import type { Pod } from '../../api/generated/core-v1.ts';

const DEFAULT_GRACE_SECONDS = 30;

/** What the end of a pod is given: what its deletion asks for, else what it asks for itself. */
export function deletionGracePeriod({ metadata, spec }: Pod): number {
  return metadata.deletionGracePeriodSeconds ?? specGracePeriod({ spec });
}

/** What a pod asks for itself, whoever ends it. */
export function specGracePeriod({ spec }: Pick<Pod, 'spec'>): number {
  return spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
}
