import type { NodeAddress } from '../../../api/generated/core-v1.ts';
import type { NodeSettings } from '../node-settings.ts';
import { canonicalIp, ipFamilyOf, isUnspecified } from './canonical-ip.ts';

/** The current addresses of the machine. */
export interface AddressView {
  /** Of all interfaces. */
  readonly local: readonly string[];
  /** The addresses of the node's name in DNS and /etc/hosts, in order of preference. */
  readonly named: readonly string[];
  /** The address of the interface with the default route, by IP family. */
  readonly primary: Readonly<Partial<Record<4 | 6, string>>>;
}

type AddressSettings = Pick<NodeSettings, 'nodeName' | 'nodeIps' | 'isCloudExternal'>;

/** The addresses of the node cannot be determined. The message is kubelet's. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

/** Throws an `AddressError`: then the addresses in the status are kept. */
export function nodeAddresses(
  settings: AddressSettings,
  view: AddressView,
  before: readonly NodeAddress[] = [],
): readonly NodeAddress[] {
  const { nodeName, isCloudExternal } = settings;
  const nodeIps = givenIps(settings);
  const [first, second] = nodeIps.filter((ip) => !isUnspecified(ip));
  checkLocal('nodeIP', first, view);
  checkLocal('secondaryNodeIP', second, view);
  const hostname: NodeAddress = { type: 'Hostname', address: nodeName };
  if (isCloudExternal && before.length > 0) return before; // the addresses of the cloud controller have precedence
  if (isCloudExternal && nodeIps.length === 0) return [hostname];
  const internal = first !== undefined && second !== undefined ? [first, second] : [first ?? detectIp(settings, view)];
  return [...internal.map((address) => ({ type: 'InternalIP', address })), hostname];
}

/** The value of the annotation that passes `--node-ip` to a cloud controller; `undefined` without `--node-ip`. */
export function providedIps(settings: AddressSettings): string | undefined {
  const specified = givenIps(settings).filter((ip) => !isUnspecified(ip));
  return settings.isCloudExternal && specified.length > 0 ? specified.join(',') : undefined;
}

function givenIps({ nodeIps }: AddressSettings): readonly string[] {
  return nodeIps.flatMap((ip) => canonicalIp(ip) ?? []);
}

function detectIp(settings: AddressSettings, view: AddressView): string {
  const { nodeName } = settings;
  const nameAsIp = canonicalIp(nodeName);
  if (nameAsIp !== undefined) return nameAsIp;
  const [chosen = '0.0.0.0'] = givenIps(settings);
  const family = ipFamilyOf(chosen);
  const other = family === 4 ? 6 : 4;
  const usable = view.named.flatMap((ip) => canonicalIp(ip) ?? []).filter((ip) => nodeIpError(ip, view) === undefined);
  const found =
    usable.find((ip) => ipFamilyOf(ip) === family) ?? usable[0] ?? view.primary[family] ?? view.primary[other];
  if (found !== undefined) return found;
  throw new AddressError(
    `can't get ip address of node ${nodeName}. error: no default routes found in "/proc/net/route" or "/proc/net/ipv6_route"`,
  );
}

function checkLocal(name: string, ip: string | undefined, view: AddressView): void {
  const error = ip === undefined ? undefined : nodeIpError(ip, view);
  if (error !== undefined) throw new AddressError(`failed to validate ${name}: ${error}`);
}

function nodeIpError(ip: string, { local }: AddressView): string | undefined {
  if (/^127\.|^::1$/.test(ip)) return "nodeIP can't be loopback address";
  if (/^(22[4-9]|23\d)\.|^ff/.test(ip)) return "nodeIP can't be a multicast address";
  if (/^169\.254\.|^fe[89ab]/.test(ip)) return "nodeIP can't be a link-local unicast address";
  if (local.some((each) => canonicalIp(each) === ip)) return undefined;
  return `node IP: "${ip}" not found in the host's network interfaces`;
}
