import type { PodAdmitHandler } from './pod-admit-handler.ts';

/** Rejects `supplementalGroupsPolicy: Strict` where the runtime cannot enforce it. */
export const supplementalGroupsHandler: PodAdmitHandler = ({ spec }, { supportsSupplementalGroupsPolicy }) => {
  const isStrict = spec.securityContext?.supplementalGroupsPolicy === 'Strict';
  if (!isStrict || supportsSupplementalGroupsPolicy) return undefined;
  const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
  return { reason: 'SupplementalGroupsPolicyNotSupported', message };
};
