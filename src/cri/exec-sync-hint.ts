/**
 * How much output the caller of ExecSync uses. Not part of the protocol: only a runtime in the same process sees it, gRPC
 * does not carry it. A runtime may return more.
 */
export interface ExecSyncHint {
  readonly maxStreamBytes?: number;
}
