import type { Pod } from '../../../api/generated/core-v1.ts';

/** Sources that kubelet fills itself: what is in them belongs to the pod alone, and may be labelled for it. */
const OWN_SOURCES = ['emptyDir', 'configMap', 'secret', 'downwardAPI', 'projected'] as const;

/** The volumes whose files the runtime is to label for the containers that mount them, where SELinux is on. */
export function relabelledVolumes({ spec }: Pod): ReadonlySet<string> {
  const own = (spec.volumes ?? []).filter((volume) => OWN_SOURCES.some((source) => volume[source] !== undefined));
  return new Set(own.map(({ name }) => name));
}
