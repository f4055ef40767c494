/**
 * The records of one kind, one file each. Records in `all` are written. Files are replaced atomically: after a crash,
 * either the old or the new record is read. It has one owner.
 *
 * While the disk is full, changes are written to the overflow directory, which is on another filesystem (the state tmpfs).
 * A new record needs the disk, so after a reboot everything that may be left on the machine has a record, possibly in an
 * older state.
 */
export interface RecordStore<R extends { readonly id: string }> {
  readonly all: ReadonlyMap<string, R>;
  /** Finds a record by id, or by a unique prefix of it (crictl prints prefixes). */
  find(idOrPrefix: string): R | undefined;
  /** Writes the record, then updates `all`. Concurrent calls for one id are a bug of the caller. */
  put(record: R, options?: PutOptions): Promise<void>;
  /** Needs no disk space. */
  remove(id: string): Promise<void>;
  /** Tries to write records to the disk that had no space there. Returns whether all records are on disk. */
  writeBack(): Promise<boolean>;
}

export interface PutOptions {
  /**
   * Updates `all` even if neither directory has space; a later `put` or `writeBack` writes the record. Only for exits and
   * stops: recovery detects on the machine that the resources of an older record are gone.
   */
  readonly mayDefer?: boolean;
}

/** Result of opening a store. */
export interface OpenedStore<R extends { readonly id: string }> {
  readonly store: RecordStore<R>;
  /** Ids of unreadable records (for example after a power loss). Recovery removes their resources. */
  readonly damaged: readonly string[];
}
