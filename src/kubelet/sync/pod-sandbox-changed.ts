import type { SandboxChangeReason } from './pod-plan.ts';
import type { PodView } from './pod-view.ts';

/** Whether the pod keeps its sandbox or needs a new one, and why. kubelet's PodSandboxChanged. */
export type SandboxChange =
  | { readonly kind: 'keep'; readonly id: string }
  | { readonly kind: 'create'; readonly attempt: number; readonly reason: SandboxChangeReason };

export function podSandboxChanged({ spec, sandboxes }: Pick<PodView, 'spec' | 'sandboxes'>): SandboxChange {
  const newest = sandboxes[0];
  if (!newest) return { kind: 'create', attempt: 0, reason: 'none yet' };
  const create = (because: SandboxChangeReason): SandboxChange => ({
    kind: 'create',
    attempt: newest.attempt + 1,
    reason: because,
  });

  if (sandboxes.filter(({ ready }) => ready).length > 1) return create('several are ready');
  if (!newest.ready) return create('not ready');
  const hostNetwork = spec.hostNetwork ?? false;
  if (newest.hostNetwork !== hostNetwork) return create('network mode changed');
  if (!hostNetwork && newest.ips.length === 0) return create('no address');
  return { kind: 'keep', id: newest.id };
}
