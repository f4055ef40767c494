import type { ClusterTrustBundleProjection } from '../../api/generated/core-v1.ts';
import { CausedError, type SourceUnavailable } from '../pod/pod-cause.ts';

/** The trust anchors of ClusterTrustBundles, for projected volumes. */
export interface TrustBundles {
  /**
   * The selected certificates in PEM, without duplicates. Empty if the source is optional and selects nothing. The pod
   * is woken when they change, until it is forgotten. Rejects with a `TrustBundleError`.
   */
  trustAnchors(podUid: string, source: ClusterTrustBundleProjection, signal: AbortSignal): Promise<string>;
  /** Called when no container of the pod runs any more. */
  forget(uid: string): void;
}

/** Trust anchors are not available. The message is kubelet's. */
export class TrustBundleError extends CausedError {
  override readonly name = 'TrustBundleError';
}

/** kubelet's error for every reason. */
export function trustBundlesUnavailable(why: SourceUnavailable): TrustBundleError {
  const message = 'ClusterTrustBundle projection is not supported in static kubelet mode';
  return new TrustBundleError(message, { kind: 'trustBundlesUnavailable', why });
}

/** A node that cannot use ClusterTrustBundles. */
export function noTrustBundles(why: SourceUnavailable): TrustBundles {
  return {
    async trustAnchors() {
      throw trustBundlesUnavailable(why);
    },
    forget() {},
  };
}
