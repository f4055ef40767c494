/** Files by which programs of one machine exclude each other: flock(2), as kubelet's `--lock-file`. */
export interface LockFiles {
  /**
   * Creates the file unless it exists, and locks it. Waits while another process holds the lock. The lock is held until
   * disposal or the end of the process. Rejects with a `FileSystemError`, or with the signal's reason.
   */
  acquire(path: string, signal: AbortSignal): Promise<LockedFile>;
}

export interface LockedFile extends AsyncDisposable {
  /** Resolves when a process opens or removes the file from now on. Rejects with the signal's reason. */
  untilContended(signal: AbortSignal): Promise<void>;
}
