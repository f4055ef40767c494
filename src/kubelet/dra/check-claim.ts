import type { Pod, ResourceClaim } from '../../api/generated/core-v1.ts';
import { CausedError, type ResourceClaimCause } from '../pod/pod-cause.ts';
import { type ClaimInfo, newClaimInfo } from './claim-info.ts';
import type { PodClaim } from './pod-claims.ts';

/** Throws kubelet's message for a claim that the pod must not use, or cannot use yet. */
export function checkClaim(pod: Pod, claim: ResourceClaim, { mustCheckOwner }: PodClaim): ClaimInfo {
  if (mustCheckOwner) requireOwner(pod, claim);
  const { name, uid } = claim.metadata;
  const isReserved = (claim.status?.reservedFor ?? []).some((each) => each.uid === pod.metadata.uid);
  if (!isReserved) {
    const user = `pod ${pod.metadata.name} (${pod.metadata.uid})`;
    throw notReady(`${user} is not allowed to use ResourceClaim ${name} (${uid})`, name, 'notReserved');
  }
  const info = newClaimInfo(claim);
  if (!info) throw notReady(`ResourceClaim ${name}: not allocated`, name, 'notAllocated');
  return info;
}

/** An object of the same name that another pod owns must not be used. */
function requireOwner({ metadata: pod }: Pod, { metadata: claim }: ResourceClaim): void {
  const [ofPod, ofClaim] = [`Pod ${pod.namespace}/${pod.name}`, `ResourceClaim ${claim.namespace}/${claim.name}`];
  if (claim.namespace !== pod.namespace) throw new Error(`${ofClaim} is not in the same namespace as ${ofPod}`);
  const controller = claim.ownerReferences?.find((each) => each.controller);
  if (controller?.uid !== pod.uid) throw new Error(`${ofClaim} was not created for ${ofPod} (Pod is not owner)`);
}

function notReady(message: string, claim: string, why: ResourceClaimCause['why']): CausedError {
  return new CausedError(message, { kind: 'resourceClaimNotReady', claim, why });
}
