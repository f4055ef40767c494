import type { Container, Pod, PodResourceClaim } from '../../api/generated/core-v1.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { CausedError } from '../pod/pod-cause.ts';
import { isBackedByDra } from './extended-resources.ts';

/** A claim of a pod. */
export interface PodClaim {
  /** The name of the ResourceClaim object, in the namespace of the pod. */
  readonly claimName: string;
  /** It was created from a template for this pod: another object of this name must not be used. */
  readonly mustCheckOwner: boolean;
}

/** The gates that decide which claims a pod has. */
export interface ClaimGates {
  /** The feature gate DRAExtendedResource. */
  readonly extendedResources: boolean;
}

/**
 * The claims of the pod, each once. Throws kubelet's message while one is not created yet. A template for which none was
 * created deliberately has no claim.
 */
export function podClaims(pod: Pod, { extendedResources }: ClaimGates): readonly PodClaim[] {
  const named = (pod.spec.resourceClaims ?? []).map((reference) => podClaim(pod, reference));
  const extended = extendedResources ? pod.status?.extendedResourceClaimStatus : undefined;
  const all = [...named, extended && { claimName: extended.resourceClaimName, mustCheckOwner: false }];
  const byName = new Map<string, PodClaim>();
  for (const each of all) if (each && !byName.get(each.claimName)?.mustCheckOwner) byName.set(each.claimName, each);
  return [...byName.values()];
}

/** The ResourceClaim object of a claim in the pod's spec; `undefined` before it is created. */
export function claimNameOf(pod: Pod, name: string): string | undefined {
  const reference = pod.spec.resourceClaims?.find((each) => each.name === name);
  const created = pod.status?.resourceClaimStatuses?.find((each) => each.name === name);
  return reference?.resourceClaimName ?? (reference && created?.resourceClaimName);
}

function podClaim(pod: Pod, reference: PodResourceClaim): PodClaim | undefined {
  const { name, resourceClaimName, resourceClaimTemplateName } = reference;
  if (resourceClaimName !== undefined) return { claimName: resourceClaimName, mustCheckOwner: false };
  const fullName = `${pod.metadata.namespace}/${pod.metadata.name}`;
  if (resourceClaimTemplateName === undefined) {
    const where = `pod "${fullName}", spec.resourceClaim ${goQuote(name)}`;
    throw new Error(`${where}: none of the supported fields are set`);
  }
  const created = pod.status?.resourceClaimStatuses?.find((status) => status.name === name);
  if (!created) {
    const cause = { kind: 'resourceClaimNotReady', claim: name, why: 'notCreated' } as const;
    throw new CausedError(`pod "${fullName}": ResourceClaim not created yet`, cause);
  }
  const claimName = created.resourceClaimName;
  return claimName === undefined ? undefined : { claimName, mustCheckOwner: true };
}

/** Whether other components have created or replaced claims of the pod. */
export function haveClaimsChanged({ status: before }: Pod, { status: now }: Pod): boolean {
  const claims = (status: Pod['status']): string =>
    JSON.stringify([status?.resourceClaimStatuses, status?.extendedResourceClaimStatus]);
  return claims(before) !== claims(now);
}

/** One claim that a container uses. */
export interface ContainerClaim {
  readonly claimName: string;
  /** The requests of it that the container uses; the empty name stands for all. */
  readonly requests: readonly string[];
}

/** The claims that a container uses, in the order of the pod's. */
export function containerClaims(pod: Pod, container: Container, gates: ClaimGates): readonly ContainerClaim[] {
  const uses = container.resources?.claims ?? [];
  const named = (pod.spec.resourceClaims ?? []).flatMap((reference) => {
    const requests = uses.filter(({ name }) => name === reference.name).map(({ request = '' }) => request);
    const claim = requests.length > 0 ? podClaim(pod, reference) : undefined;
    return claim ? [{ claimName: claim.claimName, requests }] : [];
  });
  const extended = gates.extendedResources ? pod.status?.extendedResourceClaimStatus : undefined;
  if (!extended) return named;
  const requests = extended.requestMappings.flatMap(({ containerName, resourceName, requestName }) =>
    containerName === container.name && requestsResource(pod, container, resourceName) ? requestName : [],
  );
  return requests.length === 0 ? named : [...named, { claimName: extended.resourceClaimName, requests }];
}

function requestsResource(pod: Pod, container: Container, resource: string): boolean {
  const amount = container.resources?.requests?.[resource];
  return amount !== undefined && String(amount) !== '0' && isBackedByDra(pod, container.name, resource);
}
