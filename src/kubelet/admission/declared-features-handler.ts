import type { PodSpec } from '../../api/generated/core-v1.ts';
import { mayRestartAllContainers } from '../pod/restart-rules.ts';
import type { PodAdmitHandler } from './pod-admit-handler.ts';

/** The features of nodes that the spec of a pod may require, sorted by name. */
const REQUIREMENTS: readonly (readonly [feature: string, isRequired: (spec: PodSpec) => boolean])[] = [
  ['RestartAllContainersOnContainerExits', mayRestartAllContainers],
  ['UserNamespacesHostNetworkSupport', ({ hostNetwork, hostUsers }) => hostNetwork === true && hostUsers === false],
];

/** Rejects pods that require a feature which the node does not declare. */
export const declaredFeaturesHandler: PodAdmitHandler = ({ spec }, { declaredFeatures }) => {
  if (!declaredFeatures) return undefined;
  const missing = REQUIREMENTS.filter(
    ([feature, isRequired]) => isRequired(spec) && !declaredFeatures.includes(feature),
  );
  if (missing.length === 0) return undefined;
  const names = missing.map(([feature]) => feature).join(', ');
  return { reason: 'PodFeatureUnsupported', message: `Pod requires node features that are not available: ${names}` };
};
