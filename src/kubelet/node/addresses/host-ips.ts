import type { NodeAddress } from '../../../api/generated/core-v1.ts';
import type { NodeSettings } from '../node-settings.ts';
import { canonicalIp, ipFamilyOf } from './canonical-ip.ts';
import { AddressError, type AddressView, nodeAddresses } from './node-addresses.ts';

type AddressSettings = Pick<NodeSettings, 'nodeName' | 'nodeIps' | 'isCloudExternal'>;

/**
 * The `hostIPs` of pods, primary first: the node's first address, and one of the other family if there is one. Empty if
 * the node's addresses are unknown.
 */
export function hostIps(settings: AddressSettings, view: AddressView): readonly string[] {
  try {
    return hostIpsFromAddresses(nodeAddresses(settings, view));
  } catch (error) {
    if (error instanceof AddressError) return [];
    throw error;
  }
}

/** Internal addresses come before external ones. */
export function hostIpsFromAddresses(addresses: readonly NodeAddress[]): readonly string[] {
  const all = ['InternalIP', 'ExternalIP'].flatMap((wanted) =>
    addresses.flatMap(({ type, address }) => (type === wanted ? (canonicalIp(address) ?? []) : [])),
  );
  const [first] = all;
  if (first === undefined) return [];
  const second = all.find((ip) => ipFamilyOf(ip) !== ipFamilyOf(first));
  return second === undefined ? [first] : [first, second];
}
