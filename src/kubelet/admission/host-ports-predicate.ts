import type { ContainerPort, Pod } from '../../api/generated/core-v1.ts';
import type { Predicate } from './pod-admit-handler.ts';

/** Pods whose host ports are in use by another pod do not fit. */
export const hostPortsPredicate: Predicate = (pod, { otherPods }) => {
  const used = otherPods.flatMap(hostPorts);
  const hasConflict = hostPorts(pod).some((port) => used.some((other) => conflicts(port, other)));
  if (!hasConflict) return [];
  const description = "node(s) didn't have free ports for the requested pod ports";
  return [{ kind: 'predicate', name: 'NodePorts', description }];
};

/** Sidecars hold their ports for the lifetime of the pod; other init containers do not count. */
function hostPorts({ spec }: Pod): ContainerPort[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...sidecars, ...spec.containers]
    .flatMap(({ ports }) => ports ?? [])
    .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0);
}

function conflicts(a: ContainerPort, b: ContainerPort): boolean {
  if (a.hostPort !== b.hostPort || (a.protocol ?? 'TCP') !== (b.protocol ?? 'TCP')) return false;
  const isOnAllAddresses = ({ hostIP }: ContainerPort) => !hostIP || hostIP === '0.0.0.0';
  return isOnAllAddresses(a) || isOnAllAddresses(b) || a.hostIP === b.hostIP;
}
