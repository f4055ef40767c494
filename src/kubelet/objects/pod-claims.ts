import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/generated/core-v1.ts';

/** A claim with the persistent volume that it is bound to. */
export interface BoundClaim {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
}

/** The claims that pods use as volumes. */
export interface PodClaims {
  /** A change of a claim wakes its pods, so that a failed look-up need not be repeated. */
  readonly wakesPods: boolean;
  /**
   * Asks for the current claim of the pod's namespace each time. Rejects with kubelet's message while it is missing or not
   * bound.
   */
  find(pod: Pod, name: string, signal: AbortSignal): Promise<BoundClaim>;
}

/** The annotation of volumes that were created for their claim, and its value for directories of this node. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
export const LOCAL_PROVISIONER = 'nodelet';

/** Claims need an API server, or manifests that have them. */
export const NO_CLAIMS: PodClaims = {
  wakesPods: true,
  find: async () => {
    throw new Error('there is neither an API server nor a manifest with this claim');
  },
};
