/** Named pipes of other programs. */
export interface Fifos {
  /**
   * Resolves when no process has the FIFO open for writing: at once when none has, or when the FIFO does not exist. Reads
   * no data. Rejects with the signal's reason when the signal aborts.
   */
  untilWritersClose(path: string, signal: AbortSignal): Promise<void>;

  /** `false`: the FIFO has no reader, or does not exist. Never blocks: at most 4096 bytes. */
  write(path: string, data: string): Promise<boolean>;
}
