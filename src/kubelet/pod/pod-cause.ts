/**
 * Typed causes of events and failed steps, carried beside their human text. `explain` and the progress view decide on
 * these and never on the text.
 */

/** Why the agent kills a container. */
export type KillCause =
  | 'definitionChanged'
  | 'livenessFailed'
  | 'startupFailed'
  | 'postStartHookFailed'
  | 'resized'
  | 'unknownState'
  /** All containers of the pod are removed and started again. */
  | 'restartingAll'
  /** The container ends with its pod. */
  | 'podStopping';

type ObjectKind = 'configmap' | 'secret';

/** Why a projected source of the cluster cannot be used on this node at all. */
export type SourceUnavailable = 'standalone' | 'gateOff' | 'notServed';

/** Why a projected source that only a cluster provides has no content. */
export type SourceCause =
  | { readonly kind: 'trustBundleNotFound'; readonly name: string }
  | { readonly kind: 'trustBundlesNotFound'; readonly signer: string }
  | { readonly kind: 'trustBundlesNotSynced' }
  | { readonly kind: 'trustBundlesUnavailable'; readonly why: SourceUnavailable }
  | {
      readonly kind: 'podCertificateNotIssued';
      readonly signer: string;
      /** The PodCertificateRequest, `default/req-x7x2k`; absent before it is created. */
      readonly request?: string | undefined;
      /** Why it could not be created. */
      readonly error?: string | undefined;
    }
  | {
      readonly kind: 'podCertificateRefused';
      readonly signer: string;
      readonly outcome: 'denied' | 'failed';
      readonly reason: string;
      readonly message: string;
    }
  | { readonly kind: 'podCertificatesUnavailable'; readonly why: Exclude<SourceUnavailable, 'notServed'> };

/** Why a ResourceClaim cannot be prepared. */
export interface ResourceClaimCause {
  readonly kind: 'resourceClaimNotReady';
  /** The name of the object, or the one in the pod before the object is created. */
  readonly claim: string;
  readonly why: 'notCreated' | 'notFound' | 'notAllocated' | 'notReserved';
}

/** Why work for a pod failed, where the agent itself found the cause. Errors of the runtime have only their text. */
export type ErrorCause =
  /** The step was abandoned because the pod is to end; nothing failed. */
  | { readonly kind: 'podEnding' }
  | { readonly kind: 'networkNotReady' }
  | { readonly kind: 'runtimeClassNotFound'; readonly name: string }
  | { readonly kind: 'userNamespacesUnsupported' }
  | { readonly kind: 'objectNotFound'; readonly object: ObjectKind; readonly name: string }
  /** The API server has not returned the object yet. */
  | { readonly kind: 'objectNotSynced'; readonly object: ObjectKind }
  | { readonly kind: 'servicesNotSynced' }
  | { readonly kind: 'keyNotFound'; readonly object: ObjectKind; readonly name: string; readonly key: string }
  | SourceCause
  /** A file of environment variables is missing or cannot be parsed. */
  | { readonly kind: 'envFileInvalid' }
  /** `runAsNonRoot` is set, and the spec or the image makes the container root. */
  | { readonly kind: 'runsAsRoot'; readonly from: 'spec' | 'image' }
  /** `runAsNonRoot` is set, and the image names its user, which may be root. */
  | { readonly kind: 'userNotNumeric'; readonly user: string }
  | { readonly kind: 'subPathFailed'; readonly volume: string }
  /** The image of an image volume is not available. */
  | { readonly kind: 'imageVolumeFailed'; readonly volume: string; readonly image: string }
  /** `error` is kubelet's text: `PVC is not bound`. */
  | { readonly kind: 'claimNotReady'; readonly claim: string; readonly error: string }
  | { readonly kind: 'csiDriverNotRegistered'; readonly driver: string }
  | ResourceClaimCause
  | { readonly kind: 'draDriverNotRegistered'; readonly driver: string }
  /** `isReported`: the API server has the volume in the node's `volumesInUse`, and the controller has not attached it. */
  | { readonly kind: 'volumeNotAttached'; readonly persistentVolume: string; readonly isReported: boolean }
  /** The persistent volume may only be used on other nodes. */
  | { readonly kind: 'volumeOfOtherNode' }
  /** A program of the host is not installed. */
  | { readonly kind: 'programMissing'; readonly program: string }
  /** `source` is as in the mount table: `server:/path`. */
  | { readonly kind: 'serverNotResponding'; readonly source: string }
  | { readonly kind: 'crashBackoff'; readonly delayMs: number }
  | { readonly kind: 'volumeFailed'; readonly volume: string; readonly cause: ErrorCause | undefined };

/** Why the node evicted a pod. */
export type EvictionCause =
  | {
      readonly kind: 'nodeLow';
      readonly resource: 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';
      /** kubelet's eviction signal: `memory.available`. */
      readonly signal: string;
      readonly crossed?: { readonly threshold: string; readonly available: string } | undefined;
    }
  | { readonly kind: 'storageLimitExceeded'; readonly violation: StorageViolation };

/** A limit of local storage that a pod exceeds. */
export type StorageViolation =
  | { readonly kind: 'emptyDir'; readonly volume: string; readonly limit: string }
  | { readonly kind: 'pod'; readonly limit: string }
  | { readonly kind: 'container'; readonly container: string; readonly limit: string };

/** Why an event was recorded, where its reason alone does not say it. */
export type EventCause =
  | ErrorCause
  | EvictionCause
  | { readonly kind: 'kill'; readonly cause: KillCause }
  | {
      readonly kind: 'probeFailed';
      readonly probe: 'startup' | 'readiness' | 'liveness';
      /** Output of the check. */
      readonly output: string;
    }
  | { readonly kind: 'imagePulling'; readonly image: string }
  | { readonly kind: 'imagePresent'; readonly image: string }
  | { readonly kind: 'pullBackoff' }
  | { readonly kind: 'pullSecretsUnavailable'; readonly names: readonly string[] };

/** An error with a typed cause. Its message is kubelet's, where kubelet has one. */
export class CausedError extends Error {
  override readonly name: string = 'CausedError';
  readonly podCause: ErrorCause | undefined;

  constructor(message: string, podCause: ErrorCause | undefined, options?: ErrorOptions) {
    super(message, options);
    this.podCause = podCause;
  }
}

/** Returns the typed cause of an error, or of the first error in its `cause` chain that has one. */
export function podCauseOf(error: unknown): ErrorCause | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof CausedError && each.podCause) return each.podCause;
  }
  return undefined;
}
