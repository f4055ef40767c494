import type { Pod } from '../../../api/generated/core-v1.ts';
import { NamespaceMode, NamespaceOption } from '../../../cri/generated/runtime-v1.ts';

/** Which namespaces a pod shares, and with whom. */
export function namespaceOptions({ spec }: Pod): NamespaceOption {
  return NamespaceOption.fromPartial({
    network: spec.hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
    ipc: spec.hostIPC ? NamespaceMode.NODE : NamespaceMode.POD,
    pid: pidMode(spec),
    usernsOptions: { mode: NamespaceMode.NODE },
  });
}

function pidMode({ hostPID, shareProcessNamespace }: Pod['spec']): NamespaceMode {
  if (hostPID) return NamespaceMode.NODE;
  return shareProcessNamespace ? NamespaceMode.POD : NamespaceMode.CONTAINER;
}
