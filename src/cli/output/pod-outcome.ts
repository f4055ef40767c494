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

/** Whether every container but the sidecars has ended for good: the sidecars are ended next, and the pod is done. */
export function isCompleting({ spec }: Pod, { containerStatuses = [] }: PodStatus): boolean {
  const policy = spec.restartPolicy ?? 'Always';
  return (
    policy !== 'Always' &&
    spec.containers.every(({ name }) => {
      const end = containerStatuses.find((container) => container.name === name)?.state?.terminated;
      return end !== undefined && (policy === 'Never' || end.exitCode === 0);
    })
  );
}
