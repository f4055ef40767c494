import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';

/** What a user who waits for a pod wants to know. */
export type PodOutcome = 'pending' | 'ready' | 'succeeded' | 'failed';

export function podOutcome({ phase, conditions = [] }: PodStatus): PodOutcome {
  if (phase === 'Succeeded') return 'succeeded';
  if (phase === 'Failed') return 'failed';
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True') ? 'ready' : 'pending';
}

/** Whether there is nothing more to wait for: a server is ready, and a pod that runs to completion has ended. */
export function isSettled({ spec }: Pod, status: PodStatus): boolean {
  const outcome = podOutcome(status);
  return outcome === 'ready' ? spec.restartPolicy === 'Always' : outcome !== 'pending';
}
