import { isJsonObject, type JsonObject } from './json-object.ts';
import type { NetworkConfig } from './network-config.ts';

/** The result of ADD as the plugin wrote it: later plugins and DEL get it back unchanged. */
export type CniResult = JsonObject;

/** Adds the version if the plugin omitted it; later plugins need it. */
export function withVersion(result: JsonObject, { cniVersion }: NetworkConfig): CniResult {
  return typeof result.cniVersion === 'string' && result.cniVersion !== '' ? result : { ...result, cniVersion };
}

/** An address of a pod, and with the prefix length of its network: `10.88.0.2`, `10.88.0.2/16`. */
export interface ResultAddress {
  readonly ip: string;
  readonly cidr: string;
}

/** Returns the addresses of one interface in the plugin's order. An address without an interface counts too. */
export function resultAddresses(result: CniResult, interfaceName: string): ResultAddress[] {
  const interfaces = Array.isArray(result.interfaces) ? result.interfaces : [];
  const isOnInterface = (index: unknown): boolean => {
    const owner: unknown = typeof index === 'number' ? interfaces[index] : undefined;
    return !isJsonObject(owner) || owner.name === interfaceName;
  };
  return ipsOf(result).flatMap((ip) => {
    if (!isJsonObject(ip) || typeof ip.address !== 'string' || !isOnInterface(ip.interface)) return [];
    return [{ ip: withoutPrefix(ip.address), cidr: ip.address }];
  });
}

/** The same without the prefix lengths. */
export function interfaceAddresses(result: CniResult, interfaceName: string): string[] {
  return resultAddresses(result, interfaceName).map(({ ip }) => ip);
}

/** `ips` since CNI 0.3.0; before that one field for each IP family. */
function ipsOf({ ips, ip4, ip6 }: CniResult): readonly unknown[] {
  if (Array.isArray(ips)) return ips;
  return [ip4, ip6].flatMap((ip) => (isJsonObject(ip) ? [{ address: ip.ip }] : []));
}

function withoutPrefix(address: string): string {
  return address.split('/', 1)[0] ?? address;
}

/** Puts the first address of the preferred family first; the others keep their order. */
export function sortByPreference(ips: readonly string[], preference: 'ipv4' | 'ipv6' | 'cni'): string[] {
  const first = ips.find((ip) => (ip.includes(':') ? 'ipv6' : 'ipv4') === preference);
  return first === undefined ? [...ips] : [first, ...ips.filter((ip) => ip !== first)];
}
