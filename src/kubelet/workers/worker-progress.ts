import type { ErrorCause } from '../pod/pod-cause.ts';
/** What the worker of a pod is about, besides its phase. Times are wall-clock milliseconds. */
export interface WorkerProgress {
  /** Since when it is in its phase. */
  readonly phaseSinceMs: number;
  /** The pod left its source. */
  readonly removed: boolean;
  /** When the next pass begins if nothing happens before; `undefined` during one, and where none is due. */
  readonly nextSyncMs: number | undefined;
  /** When the first back-off that the last pass met ends. A pass before then does not try again. */
  readonly backoffEndsMs: number | undefined;
  /** When the containers of a terminating pod are killed. */
  readonly graceEndsMs: number | undefined;
  /** Set when the last pass failed. */
  readonly lastError: SyncError | undefined;
}

export interface SyncError {
  readonly error: string;
  readonly cause?: ErrorCause | undefined;
  readonly atMs: number;
  /** Failures in a row, this one included. */
  readonly consecutive: number;
}
