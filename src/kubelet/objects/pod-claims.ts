import type { PersistentVolume, PersistentVolumeClaim } from '../../api/generated/core-v1.ts';

/** A claim with the persistent volume that it is bound to. */
export interface BoundClaim {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
}

/** The claims that pods use as volumes. */
export interface PodClaims {
  /** Asks for the current claim each time. Rejects with kubelet's message while it is missing or not bound. */
  find(namespace: string, name: string, signal: AbortSignal): Promise<BoundClaim>;
}

/** Claims need an API server, or manifests that have them. */
export const NO_CLAIMS: PodClaims = {
  find: async () => {
    throw new Error('there is neither an API server nor a manifest with this claim');
  },
};
