import { ipBytes } from '../../base/ip-address.ts';
import { type CniResult, type ResultAddress, resultAddresses } from './cni-result.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/** Maps host ports by nftables, in the table of its `bridge`. For machines where portmap cannot: it needs iptables. */
export const HOST_PORTS_PLUGIN = 'nodelet-hostports';

/** A port of the machine that leads to a port of a pod. */
export interface HostPort {
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly hostPort: number;
  readonly containerPort: number;
  /** Absent: all addresses of the machine. */
  readonly hostIp?: string;
}

/** Parses the capability `portMappings`. Everything in it becomes part of a script: rejects what is not exactly a port. */
export function parseHostPorts(runtimeConfig: unknown): readonly HostPort[] {
  const mappings = isJsonObject(runtimeConfig) ? runtimeConfig.portMappings : undefined;
  if (mappings === undefined) return [];
  if (!Array.isArray(mappings)) throw new Error('portMappings: must be a list');
  return mappings.map((mapping: unknown, index) => {
    const parsed = isJsonObject(mapping) ? parseHostPort(mapping) : undefined;
    if (!parsed) throw new Error(`portMappings[${index}]: invalid: ${JSON.stringify(mapping)}`);
    return parsed;
  });
}

function parseHostPort({ protocol, hostPort, containerPort, hostIP }: JsonObject): HostPort | undefined {
  if (protocol !== 'tcp' && protocol !== 'udp' && protocol !== 'sctp') return undefined;
  if (!isPort(hostPort) || !isPort(containerPort)) return undefined;
  if (hostIP === undefined || hostIP === '') return { protocol, hostPort, containerPort };
  if (typeof hostIP !== 'string' || !ipBytes(hostIP)) return undefined;
  return { protocol, hostPort, containerPort, hostIp: hostIP };
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 65536;
}

/** The first address of each IP family that a pod has on an interface. */
export function podAddresses(result: CniResult, interfaceName: string): readonly ResultAddress[] {
  const all = resultAddresses(result, interfaceName);
  for (const { ip, cidr } of all) {
    const [address = '', prefix = ''] = cidr.split('/');
    if (!ipBytes(ip) || !ipBytes(address) || !/^\d{1,3}$/.test(prefix)) throw new Error(`invalid address ${cidr}`);
  }
  const firsts = ['ipv4', 'ipv6'].map((family) => all.find(({ ip }) => ip.includes(':') === (family === 'ipv6')));
  return firsts.filter((address) => address !== undefined);
}
