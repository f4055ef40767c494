/** However often pods are looked at, the loop gets so much time. */
const MIN_STALL_MS = 300_000;
/** So long kubelet's loop goes on without a runtime, before it waits for it. */
const RUNTIME_DOWN_ALLOWED_MS = 30_000;

/** For how long nothing has gone on; zero where all is well. */
export interface SyncLoopStall {
  /** In the step of the loop that has taken longest. */
  readonly stuckForMs: number;
  /** Since the runtime does not answer: without it, nothing can be done for a pod. */
  readonly runtimeDownForMs: number;
}

/** What kubelet's health check says of a sync loop that hangs; `undefined`: it does not. */
export function syncLoopUnhealthyReason(standstill: SyncLoopStall, syncFrequencyMs: number): string | undefined {
  const patienceMs = Math.max(2 * syncFrequencyMs, MIN_STALL_MS);
  const forMs = Math.max(standstill.stuckForMs, standstill.runtimeDownForMs - RUNTIME_DOWN_ALLOWED_MS);
  return forMs > patienceMs ? 'sync Loop took longer than expected' : undefined;
}
