import type { Pod, PodStatus } from '../../api/generated/core-v1.ts';

/** The state of a pod for a user who waits for it. */
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

/** Whether all containers but the sidecars have ended for good: the sidecars are stopped next, and the pod is done. */
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
