import { ExpectedError } from '../../base/expected-error.ts';
import type {
  CertificateSigningRequest,
  ConfigMap,
  Event,
  Lease,
  Node,
  Pod,
  RuntimeClass,
  Secret,
  Service,
  ServiceAccount,
  TokenRequestSpec,
} from '../../api/generated/core-v1.ts';

/** The kinds of objects that a node agent has to do with. */
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
}

export type Resource = keyof ApiObjects;

/** Names one object; `namespace` is empty for nodes, runtime classes and requests for certificates. */
export interface ObjectKey<R extends Resource = Resource> {
  readonly resource: R;
  readonly namespace: string;
  readonly name: string;
}

/** Which objects a list or a watch is about. */
export interface Selection<R extends Resource = Resource> {
  readonly resource: R;
  /** Absent: all. */
  readonly namespace?: string;
  /** `spec.nodeName=box`, `metadata.name=web`. */
  readonly fieldSelector?: string;
}

/**
 * The API server, as a node agent uses it. Objects are values. Every call rejects with an `ApiError`, or with the
 * signal's reason once that has aborted.
 */
export interface ApiServer {
  get<R extends Resource>(key: ObjectKey<R>, signal: AbortSignal): Promise<ApiObjects[R]>;

  /** All of them (pages are the client's business), and the version from which a watch goes on. */
  list<R extends Resource>(selection: Selection<R>, signal: AbortSignal): Promise<ObjectList<ApiObjects[R]>>;

  /**
   * Every change after `resourceVersion`, in order, none twice. Ends quietly when the server closes it; throws `Expired`
   * when the version is too old to go on from: list again.
   */
  watch<R extends Resource>(
    selection: Selection<R> & { readonly resourceVersion: string },
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<ApiObjects[R]>>;

  create<R extends Resource>(key: ObjectKey<R>, object: ApiObjects[R], signal: AbortSignal): Promise<ApiObjects[R]>;

  /** Replaces it; with a `resourceVersion` in it, only that version (`Conflict`). */
  update<R extends Resource>(key: ObjectKey<R>, object: ApiObjects[R], signal: AbortSignal): Promise<ApiObjects[R]>;

  /** A strategic merge patch, which leaves other writers' entries of keyed lists (conditions) alone. */
  patch<R extends Resource>(
    key: ObjectKey<R>,
    patch: unknown,
    options: { readonly subresource?: 'status' },
    signal: AbortSignal,
  ): Promise<ApiObjects[R]>;

  /** With `uid` only if it is still that object (`Conflict`). A pod with grace left is marked, and goes with grace 0. */
  delete(
    key: ObjectKey,
    options: { readonly uid?: string; readonly graceSeconds?: number },
    signal: AbortSignal,
  ): Promise<void>;

  /** A new token of a service account, for who it is bound to (`boundObjectRef`). */
  createToken(account: ServiceAccountKey, spec: TokenRequestSpec, signal: AbortSignal): Promise<IssuedToken>;
}

export interface ServiceAccountKey {
  readonly namespace: string;
  readonly name: string;
  /** Only if it is still this one (`Conflict`), and not another that has its name now; absent: whichever it is. */
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
  /** Nothing changed, but a watch may go on from here. */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** The `reason` of the server's Status answer; `Unavailable` when no answer came. */
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
  /** The server asks to be left alone for so long. */
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
