import { containersWithPath } from '../../api/containers-with-path.ts';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { FieldGates, PodAdmitHandler } from './pod-admit-handler.ts';
import { unsupportedFields } from './unsupported-fields.ts';

/** Rejects pods with fields that this node would ignore. No equivalent in kubelet. */
export const supportedFieldsHandler: PodAdmitHandler = (pod, { gates = {}, hasApiServer = false }) => {
  const unsupported = unsupportedFields(pod).map((field) => `${field} is not supported yet`);
  const needApiServer = hasApiServer ? [] : apiServerFields(pod);
  const errors = [
    ...unsupported,
    ...needApiServer.map((field) => `${field} needs an API server, and this node has none`),
    ...(hasApiServer ? [] : storageLimits(pod).map((field) => `${field} has no effect: this node evicts no pods`)),
    ...gatedFieldErrors(pod, gates),
  ];
  return errors.length === 0 ? undefined : { reason: 'PodFeatureUnsupported', message: errors.join('; ') };
};

/** Paths of fields that only an API server can serve. */
function apiServerFields({ spec }: Pod): string[] {
  const tokens = (spec.volumes ?? []).flatMap(({ projected }, volume) =>
    (projected?.sources ?? []).flatMap(({ serviceAccountToken }, source) =>
      serviceAccountToken ? `spec.volumes[${volume}].projected.sources[${source}].serviceAccountToken` : [],
    ),
  );
  // Controllers set the conditions of readiness gates at the API server.
  const gates = (spec.readinessGates ?? []).map((_, gate) => `spec.readinessGates[${gate}]`);
  const claims = (spec.resourceClaims ?? []).map((_, claim) => `spec.resourceClaims[${claim}]`);
  return [...tokens, ...gates, ...claims];
}

/** Limits that evictions enforce. */
function storageLimits({ spec }: Pod): string[] {
  return containersWithPath(spec)
    .filter(({ container }) => container.resources?.limits?.['ephemeral-storage'] !== undefined)
    .map(({ path }) => `${path}.resources.limits["ephemeral-storage"]`);
}

/**
 * One message for each field whose feature gate is off. An API server would drop such a field silently; here the pod is
 * rejected.
 */
function gatedFieldErrors({ spec }: Pod, { containerStopSignals }: FieldGates): string[] {
  if (containerStopSignals) return [];
  return containersWithPath(spec)
    .filter(({ container }) => container.lifecycle?.stopSignal !== undefined)
    .map(({ path }) => `${path}.lifecycle.stopSignal needs the feature gate ContainerStopSignals, which is off`);
}
