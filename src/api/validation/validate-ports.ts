import { portNameErrors, portNumberErrors } from '../../base/name-syntax.ts';
import type { Container, ContainerPort, PodSpec } from '../generated/core-v1.ts';
import { duplicate, type FieldErrors, invalid, invalidFor, required, requiredOneOf } from './field-error.ts';

export function* validatePorts(path: string, ports: readonly ContainerPort[] = []): FieldErrors {
  const names = new Set<string>();
  for (const [index, { name, containerPort, hostPort, protocol }] of ports.entries()) {
    const at = `${path}[${index}]`;
    if (name) {
      const messages = portNameErrors(name);
      yield* invalidFor(`${at}.name`, name, messages);
      if (messages.length === 0 && names.has(name)) yield duplicate(`${at}.name`, name);
      names.add(name);
    }
    if (containerPort === 0) yield required(`${at}.containerPort`);
    else yield* invalidFor(`${at}.containerPort`, containerPort, portNumberErrors(containerPort));
    if (hostPort) yield* invalidFor(`${at}.hostPort`, hostPort, portNumberErrors(hostPort));
    yield* requiredOneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']);
  }
}

/** Two containers that live at the same time cannot have the same port of the host. */
export function* uniqueHostPorts(path: string, containers: readonly Container[]): FieldErrors {
  const taken = new Set<string>();
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [portIndex, { hostPort, hostIP = '', protocol = '' }] of ports.entries()) {
      if (!hostPort) continue;
      const key = `${protocol}/${hostIP}/${hostPort}`;
      if (taken.has(key)) yield duplicate(`${path}[${index}].ports[${portIndex}].hostPort`, key);
      taken.add(key);
    }
  }
}

/** On the host's network a container's port is the host's port. */
export function* hostNetworkPorts({ hostNetwork, containers }: PodSpec): FieldErrors {
  if (!hostNetwork) return;
  for (const [index, { ports = [] }] of containers.entries()) {
    for (const [portIndex, { hostPort = 0, containerPort }] of ports.entries()) {
      if (hostPort === containerPort) continue;
      const path = `spec.containers[${index}].ports[${portIndex}].hostPort`;
      yield invalid(path, hostPort, 'must match `containerPort` when `hostNetwork` is true');
    }
  }
}
