/**
 * The records of one kind, one file each. What `all` shows is written already. A file is replaced as a whole: a reader
 * after a crash finds the old record or the new one. One owner.
 *
 * While the disk is full, changes are written to the overflow folder, which is on another file system (the state tmpfs).
 * A new record needs the disk: after a reboot every record of what may be left on the machine is there, if only in an
 * older state.
 */
export interface RecordStore<R extends { readonly id: string }> {
  readonly all: ReadonlyMap<string, R>;
  /** By id, or by a beginning of it that only one has (what crictl prints). */
  find(idOrPrefix: string): R | undefined;
  /** Written, then shown. Two at once for one id are a bug of the caller's. */
  put(record: R, options?: PutOptions): Promise<void>;
  /** Needs no space. */
  remove(id: string): Promise<void>;
  /** Tries to write to the disk what had no space there. Whether all records are on the disk then. */
  writeBack(): Promise<boolean>;
}

export interface PutOptions {
  /**
   * The record is shown even if neither folder has space for it, and is written by a later `put` or `writeBack`. Only for
   * an end: recovery finds out from the machine that what an older record describes is gone.
   */
  readonly mayDefer?: boolean;
}

/** What a start found. */
export interface OpenedStore<R extends { readonly id: string }> {
  readonly store: RecordStore<R>;
  /** Ids of files that cannot be read (power was lost while they were written): what they speak of has to be taken away. */
  readonly damaged: readonly string[];
}
