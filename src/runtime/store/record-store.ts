/**
 * The records of one kind, one file each. What `all` shows is on disk already. A file is replaced as a whole: a reader
 * after a crash finds the old record or the new one. One owner.
 */
export interface RecordStore<R extends { readonly id: string }> {
  readonly all: ReadonlyMap<string, R>;
  /** By id, or by a beginning of it that only one has (what crictl prints). */
  find(idOrBeginning: string): R | undefined;
  /** Written, then shown. Two at once for one id are a bug of the caller's. */
  put(record: R): Promise<void>;
  remove(id: string): Promise<void>;
}

/** What a start found. */
export interface OpenedStore<R extends { readonly id: string }> {
  readonly store: RecordStore<R>;
  /** Ids of files that cannot be read (power was lost while they were written): what they speak of has to be taken away. */
  readonly damaged: readonly string[];
}
