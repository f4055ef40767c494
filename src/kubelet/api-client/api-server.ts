import type {
  CertificateSigningRequest,
  ClusterTrustBundle,
  ConfigMap,
  CSIDriver,
  CSINode,
  Event,
  Lease,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodCertificateRequest,
  ResourceClaim,
  ResourceSlice,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  TokenRequestSpec,
  VolumeAttachment,
} from '../../api/generated/core-v1.ts';
import { ExpectedError } from '../../base/expected-error.ts';

/** The resources that a node agent uses. */
export interface ApiObjects {
  readonly pods: Pod;
  readonly nodes: Node;
  readonly leases: Lease;
  readonly events: Event;
  readonly configmaps: ConfigMap;
  readonly secrets: Secret;
  readonly services: Service;
  readonly serviceaccounts: ServiceAccount;
  readonly runtimeclasses: RuntimeClass;
  readonly certificatesigningrequests: CertificateSigningRequest;
  readonly persistentvolumeclaims: PersistentVolumeClaim;
  readonly persistentvolumes: PersistentVolume;
  readonly volumeattachments: VolumeAttachment;
  readonly csidrivers: CSIDriver;
  readonly csinodes: CSINode;
  readonly clustertrustbundles: ClusterTrustBundle;
  readonly podcertificaterequests: PodCertificateRequest;
  readonly resourceclaims: ResourceClaim;
  readonly resourceslices: ResourceSlice;
}

export type Resource = keyof ApiObjects;

/** Names one object; `namespace` is empty for cluster-scoped resources. */
export interface ObjectKey<R extends Resource = Resource> {
  readonly resource: R;
  readonly namespace: string;
  readonly name: string;
}

/** The objects of a list or a watch. */
export interface Selection<R extends Resource = Resource> {
  readonly resource: R;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** `spec.nodeName=box`, `metadata.name=web`. */
  readonly fieldSelector?: string;
}

/**
 * The API server as a node agent uses it. Objects are immutable values. Every call rejects with an `ApiError`, or with
 * the signal's reason after an abort.
 */
export interface ApiServer {
  get<R extends Resource>(key: ObjectKey<R>, signal: AbortSignal): Promise<ApiObjects[R]>;

  /** All objects, whatever the page size, and the version that a watch starts from. */
  list<R extends Resource>(selection: Selection<R>, signal: AbortSignal): Promise<ObjectList<ApiObjects[R]>>;

  /**
   * All changes after `resourceVersion`, in order and without duplicates. Ends without an error when the server closes
   * the watch; throws `Expired` when the version is too old: list again.
   */
  watch<R extends Resource>(
    selection: Selection<R> & { readonly resourceVersion: string },
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<ApiObjects[R]>>;

  create<R extends Resource>(key: ObjectKey<R>, object: ApiObjects[R], signal: AbortSignal): Promise<ApiObjects[R]>;

  /** Replaces the object. If it has a `resourceVersion`, only that version is replaced (`Conflict`). */
  update<R extends Resource>(key: ObjectKey<R>, object: ApiObjects[R], signal: AbortSignal): Promise<ApiObjects[R]>;

  /** Applies a strategic merge patch, which keeps the entries of other writers in keyed lists such as conditions. */
  patch<R extends Resource>(
    key: ObjectKey<R>,
    patch: unknown,
    options: { readonly subresource?: 'status' },
    signal: AbortSignal,
  ): Promise<ApiObjects[R]>;

  /**
   * With `uid`, deletes only that object (`Conflict`). A pod with a grace period is marked, and removed with grace
   * period 0.
   */
  delete(
    key: ObjectKey,
    options: { readonly uid?: string; readonly graceSeconds?: number },
    signal: AbortSignal,
  ): Promise<void>;

  /** Deletes all objects of the selection, one by one and without preconditions. */
  deleteCollection(selection: Selection, signal: AbortSignal): Promise<void>;

  /** Issues a token of a service account, bound to `boundObjectRef`. */
  createToken(account: ServiceAccountKey, spec: TokenRequestSpec, signal: AbortSignal): Promise<IssuedToken>;
}

export interface ServiceAccountKey {
  readonly namespace: string;
  readonly name: string;
  /** Only the account with this UID (`Conflict`). Absent: the account that has the name. */
  readonly uid?: string | undefined;
}

export interface IssuedToken {
  readonly token: string;
  /** RFC 3339. */
  readonly expirationTimestamp: string;
}

export interface ObjectList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T; readonly resourceVersion: string }
  /** No change, but a watch can resume from here. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** The `reason` of the server's Status; `Unavailable` if there was no response. */
export type ApiErrorReason =
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Invalid'
  | 'BadRequest'
  | 'Forbidden'
  | 'Unauthorized'
  | 'Expired'
  | 'TooManyRequests'
  | 'InternalError'
  | 'Unavailable';

export class ApiError extends ExpectedError {
  override readonly name = 'ApiError';
  readonly reason: ApiErrorReason;
  /** The server's `Retry-After`. */
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: ApiErrorReason,
    message: string,
    options: ErrorOptions & { readonly retryAfterMs?: number } = {},
  ) {
    super(message, options);
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs;
  }
}
