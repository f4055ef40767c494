import type { Pod } from '../../../api/generated/core-v1.ts';
import { NamespaceMode, NamespaceOption, type UserNamespace } from '../../../cri/generated/runtime-v1.ts';

/**
 * The namespace modes of a pod. `users`: from `UserNamespaces.namespaceFor`; absent: the host's. `targetId`: the
 * container whose process namespace is joined.
 */
export function namespaceOptions(
  { spec }: Pod,
  users: UserNamespace | undefined,
  targetId?: string | undefined,
): NamespaceOption {
  const pid = pidMode(spec);
  const isTargeting = targetId !== undefined && pid === NamespaceMode.CONTAINER;
  return NamespaceOption.fromPartial({
    network: spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: spec.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: isTargeting ? NamespaceMode.TARGET : pid,
    targetId: isTargeting ? targetId : '',
    usernsOptions: users ?? { mode: NamespaceMode.NODE },
  });
}

function pidMode({ hostPID, shareProcessNamespace }: Pod['spec']): NamespaceMode {
  if (hostPID) return NamespaceMode.NODE;
  return shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}
