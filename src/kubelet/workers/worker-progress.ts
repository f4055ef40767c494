/** What the worker of a pod is about, besides its phase. Times are wall-clock milliseconds. */
export interface WorkerProgress {
  /** Since when it is in its phase. */
  readonly phaseSinceMs: number;
  /** The pod left its source. */
  readonly removed: boolean;
  /** When the next pass begins if nothing happens before; `undefined` during one, and where none is due. */
  readonly nextPassMs: number | undefined;
  /** When the first back-off that the last pass met ends. A pass before then does not try again. */
  readonly pauseEndsMs: number | undefined;
  /** When the containers of a terminating pod are killed. */
  readonly graceEndsMs: number | undefined;
  /** Set when the last pass failed. */
  readonly failure: WorkerFailure | undefined;
}

export interface WorkerFailure {
  readonly error: string;
  readonly atMs: number;
  /** Failures in a row, this one included. */
  readonly inARow: number;
}
