import { containersWithPath } from '../../api/containers-with-path.ts';
import type { Pod } from '../../api/generated/core-v1.ts';

/** The feature gates on which fields of a pod depend; absent: off. */
export interface FieldGates {
  readonly containerStopSignals?: boolean | undefined;
}

/**
 * What a pod asks for that only a feature gate allows which is off, each with the name of the gate. An API server would
 * have taken the field out; here the pod is told.
 */
export function gatedFields({ spec }: Pod, { containerStopSignals }: FieldGates): string[] {
  if (containerStopSignals) return [];
  return containersWithPath(spec)
    .filter(({ container }) => container.lifecycle?.stopSignal !== undefined)
    .map(({ path }) => `${path}.lifecycle.stopSignal needs the feature gate ContainerStopSignals, which is off`);
}
