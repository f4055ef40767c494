import type { Service, ServicePort } from '../../api/generated/core-v1.ts';

/** The API server's service: its variables are always set. */
const MASTER = { namespace: 'default', name: 'kubernetes' };

export interface ServiceLinks {
  readonly namespace: string;
  /** Adds the variables of the services in the pod's namespace. */
  readonly enableServiceLinks: boolean;
}

/** The environment variables that describe services to a pod. */
export function serviceVariables(
  services: Iterable<Service>,
  { namespace, enableServiceLinks }: ServiceLinks,
): ReadonlyMap<string, string> {
  const seen = new Map<string, Service>();
  for (const service of services) {
    if (!hasAddress(service)) continue;
    const { metadata } = service;
    const isMaster = metadata.namespace === MASTER.namespace && metadata.name === MASTER.name;
    // A service of the same name in the pod's namespace has precedence.
    if (isMaster) seen.set(metadata.name, seen.get(metadata.name) ?? service);
    else if (enableServiceLinks && metadata.namespace === namespace) seen.set(metadata.name, service);
  }
  return new Map([...seen.values()].flatMap(variablesForService));
}

function hasAddress({ spec }: Service): boolean {
  return spec.clusterIP !== undefined && spec.clusterIP !== '' && spec.clusterIP !== 'None';
}

function variablesForService({ metadata, spec }: Service): [string, string][] {
  const { clusterIP = '', ports = [] } = spec;
  const prefix = variableName(metadata.name);
  const [first] = ports;
  if (!first) return [];
  const named = ports.filter(({ name }) => name);
  return [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...named.map(({ name = '', port }): [string, string] => [
      `${prefix}_SERVICE_PORT_${variableName(name)}`,
      String(port),
    ]),
    [`${prefix}_PORT`, portUrl(clusterIP, first)],
    ...ports.flatMap((port) => linkVariables(prefix, clusterIP, port)),
  ];
}

/** The variables of Docker's legacy links. */
function linkVariables(prefix: string, address: string, port: ServicePort): [string, string][] {
  const protocol = protocolOf(port);
  const name = `${prefix}_PORT_${port.port}_${protocol.toUpperCase()}`;
  return [
    [name, portUrl(address, port)],
    [`${name}_PROTO`, protocol],
    [`${name}_PORT`, String(port.port)],
    [`${name}_ADDR`, address],
  ];
}

function portUrl(address: string, port: ServicePort): string {
  const host = address.includes(':') ? `[${address}]` : address;
  return `${protocolOf(port)}://${host}:${port.port}`;
}

function protocolOf({ protocol }: ServicePort): string {
  return (protocol || 'TCP').toLowerCase();
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}
