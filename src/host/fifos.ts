/** Named pipes that another program holds. */
export interface Fifos {
  /**
   * Resolves when nobody holds it open for writing any more: at once when nobody does, or when there is none. What is
   * written to it stays for its readers. Rejects with the signal's reason when that aborts.
   */
  untilEnd(path: string, signal: AbortSignal): Promise<void>;

  /** `false`: nobody reads it, or there is none. Never waits for room: at most 4096 bytes. */
  write(path: string, data: string): Promise<boolean>;
}
