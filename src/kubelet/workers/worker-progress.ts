import type { ErrorCause } from '../pod/pod-cause.ts';
/** Progress of a pod worker within its phase. Times are wall-clock milliseconds. */
export interface WorkerProgress {
  /** Start of the current phase. */
  readonly phaseSinceMs: number;
  /** The pod was removed from its source. */
  readonly removed: boolean;
  /** When the next sync starts unless an event comes first; `undefined` during a sync, and when none is scheduled. */
  readonly nextSyncMs: number | undefined;
  /** When the first back-off of the last sync ends. Earlier syncs do not retry. */
  readonly backoffEndsMs: number | undefined;
  /** When the containers of a terminating pod are killed. */
  readonly graceEndsMs: number | undefined;
  /** Set when the last sync failed. */
  readonly lastError: SyncError | undefined;
}

export interface SyncError {
  readonly error: string;
  readonly cause?: ErrorCause | undefined;
  readonly atMs: number;
  /** Consecutive failures, this one included. */
  readonly consecutive: number;
}
