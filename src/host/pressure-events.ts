/** The kernel's own reports that memory runs short. Nothing is polled, and nothing blocks. */
export interface PressureEvents {
  /**
   * Calls `onCrossed` each time the memory of a cgroup, page cache included, rises above `bytes` or falls below, until the
   * signal aborts. Resolves to `false` where the kernel does not report it: with cgroup v2. Rejects with a
   * `FileSystemError` (ENOENT) when the cgroup does not exist.
   */
  watchUsage(cgroup: string, bytes: number, onCrossed: () => void, signal: AbortSignal): Promise<boolean>;

  /**
   * Calls `onStall` when tasks of the machine waited for memory for `stallMs` within `windowMs`, once per window, until
   * the signal aborts. Resolves to `false` where the kernel has no pressure stall information.
   */
  watchStalls(limits: StallLimits, onStall: () => void, signal: AbortSignal): Promise<boolean>;
}

export interface StallLimits {
  readonly stallMs: number;
  /** At most 10000. Without CAP_SYS_RESOURCE the kernel accepts multiples of 2000 only. */
  readonly windowMs: number;
}
