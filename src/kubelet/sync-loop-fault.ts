/** However often pods are looked at, the loop gets so much time. */
const LEAST_PATIENCE_MS = 300_000;
/** So long kubelet's loop goes on without a runtime, before it waits for it. */
const WITHOUT_RUNTIME_MS = 30_000;

/** For how long nothing has gone on; zero where all is well. */
export interface Standstill {
  /** In the step of the loop that has taken longest. */
  readonly stuckForMs: number;
  /** Since the runtime does not answer: without it, nothing can be done for a pod. */
  readonly runtimeAwayForMs: number;
}

/** What kubelet's health check says of a sync loop that hangs; `undefined`: it does not. */
export function syncLoopFault(standstill: Standstill, syncFrequencyMs: number): string | undefined {
  const patienceMs = Math.max(2 * syncFrequencyMs, LEAST_PATIENCE_MS);
  const forMs = Math.max(standstill.stuckForMs, standstill.runtimeAwayForMs - WITHOUT_RUNTIME_MS);
  return forMs > patienceMs ? 'sync Loop took longer than expected' : undefined;
}
