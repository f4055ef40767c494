import type { ContainerPort, Pod } from '../../api/generated/core-v1.ts';
import { type PodAdmitHandler, predicateFailed } from './pod-admit-handler.ts';

/** Rejects pods whose host ports are in use by another pod. */
export const hostPortsHandler: PodAdmitHandler = (pod, { otherPods }) => {
  const used = otherPods.flatMap(hostPorts);
  const hasConflict = hostPorts(pod).some((port) => used.some((other) => conflicts(port, other)));
  if (!hasConflict) return undefined;
  return predicateFailed('NodePorts', "node(s) didn't have free ports for the requested pod ports");
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
