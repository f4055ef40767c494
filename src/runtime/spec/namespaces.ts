import { invalidField } from '../../cri/field-error.ts';
import { NamespaceMode } from '../../cri/generated/runtime-v1.ts';
import type { OciLinux, OciNamespace } from '../oci/oci-spec.ts';
import { ociMappings } from './namespace-rules.ts';
import type { SpecRequest } from './spec-request.ts';

/** Lists the sandbox's namespaces by path. A namespace of the node is not listed. */
export function containerNamespaces(
  request: SpecRequest,
): Pick<OciLinux, 'namespaces' | 'uidMappings' | 'gidMappings'> {
  const { container, namespaces, machine } = request;
  const context = container.linux?.securityContext;
  const list: OciNamespace[] = [{ type: 'mount' }];
  if (namespaces.network !== undefined) list.push({ type: 'network', path: namespaces.network });
  if (namespaces.ipc !== undefined) list.push({ type: 'ipc', path: namespaces.ipc });
  if (namespaces.uts !== undefined) list.push({ type: 'uts', path: namespaces.uts });
  list.push(...pidNamespace(request));
  // Hides the cgroups above the container; v1 and privileged containers see all, as in other runtimes.
  if (machine.cgroupVersion === 'v2' && !context?.privileged) list.push({ type: 'cgroup' });
  if (namespaces.user === undefined) return { namespaces: list };

  const { path, idMap } = namespaces.user;
  list.push({ type: 'user', path });
  return { namespaces: list, uidMappings: ociMappings(idMap.uids), gidMappings: ociMappings(idMap.gids) };
}

function pidNamespace({ container, sandbox, namespaces, targetPidNamespace }: SpecRequest): OciNamespace[] {
  const ofSandbox = sandbox.linux?.securityContext?.namespaceOptions?.pid ?? NamespaceMode.POD;
  const requested = container.linux?.securityContext?.namespaceOptions?.pid ?? NamespaceMode.POD;
  switch (requested) {
    case NamespaceMode.CONTAINER:
      return [{ type: 'pid' }];
    case NamespaceMode.NODE:
      return [];
    case NamespaceMode.TARGET:
      if (targetPidNamespace !== undefined) return [{ type: 'pid', path: targetPidNamespace }];
      throw invalidField(
        'linux.security_context.namespace_options.target_id',
        'no such container runs in this sandbox',
      );
    default:
      if (ofSandbox === NamespaceMode.NODE) return [];
      // A sandbox in which each container has its own PID namespace has none to share.
      return namespaces.pid === undefined ? [{ type: 'pid' }] : [{ type: 'pid', path: namespaces.pid }];
  }
}
