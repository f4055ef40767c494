/** The loop counts as stalled no earlier than this, however often pods are synced. */
const MIN_STALL_MS = 300_000;
/** kubelet's loop runs this long without a runtime before it skips syncs. */
const RUNTIME_DOWN_ALLOWED_MS = 30_000;

/** How long the sync loop has made no progress; zero means healthy. */
export interface SyncLoopStall {
  /** Duration of the longest-running step. */
  readonly stuckForMs: number;
  /** Time since the runtime stopped answering: no pod can be synced without it. */
  readonly runtimeDownForMs: number;
}

/** kubelet's health check message for a stalled sync loop; `undefined` when it is healthy. */
export function syncLoopUnhealthyReason(stall: SyncLoopStall, syncFrequencyMs: number): string | undefined {
  const limitMs = Math.max(2 * syncFrequencyMs, MIN_STALL_MS);
  const stalledMs = Math.max(stall.stuckForMs, stall.runtimeDownForMs - RUNTIME_DOWN_ALLOWED_MS);
  return stalledMs > limitMs ? 'sync Loop took longer than expected' : undefined;
}
