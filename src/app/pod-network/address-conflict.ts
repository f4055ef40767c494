import { addressText, type Ipv4Range, overlap, parseIpv4Range, rangeOf, rangeText } from './ipv4-range.ts';

export interface Route {
  readonly device: string;
  readonly range: Ipv4Range;
}

/** Parses /proc/net/route, the main routing table. Skips routes that are down, and malformed lines. */
export function parseRoutes(text: string): readonly Route[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line): Route[] => {
      const [device, destination, , flags, , , , mask] = line.trim().split(/\s+/);
      if (device === undefined || destination === undefined || flags === undefined || mask === undefined) return [];
      if (![destination, mask].every((each) => ADDRESS.test(each))) return [];
      if ((Number.parseInt(flags, 16) & RTF_UP) === 0) return [];
      return [{ device, range: rangeOf(hostOrder(destination), prefixOf(hostOrder(mask))) }];
    });
}

const RTF_UP = 1;
const ADDRESS = /^[0-9A-Fa-f]{8}$/;

/** The kernel prints an address as a number in host byte order, which is little-endian on all supported machines. */
function hostOrder(hex: string): number {
  return Buffer.from(hex, 'hex').readUInt32LE();
}

function prefixOf(mask: number): number {
  return Math.clz32(~mask >>> 0);
}

/** Parses /proc/net/fib_trie: the addresses of this machine, loopback included. */
export function parseLocalAddresses(text: string): readonly Ipv4Range[] {
  const addresses = [...text.matchAll(/\|-- (\S+)\n\s+\/32 host LOCAL/g)].flatMap(([, address]) => {
    return parseIpv4Range(`${address}/32`) ?? [];
  });
  return [...new Map(addresses.map((range) => [range.first, range])).values()];
}

export interface NetworkTables {
  /** Text of /proc/net/route. */
  readonly route: string;
  /** Text of /proc/net/fib_trie. */
  readonly fibTrie: string;
}

/**
 * Returns why pods cannot use the addresses of `podCidr` on this machine; `undefined` if they can. Routes and addresses of
 * the bridge itself are from a previous process and do not conflict, nor does a default route.
 */
export function addressConflict(podCidr: string, bridge: string, tables: NetworkTables): string | undefined {
  const wanted = parseIpv4Range(podCidr);
  if (!wanted) return `${JSON.stringify(podCidr)} is not an IPv4 range such as 10.88.0.0/16`;
  if (wanted.last - wanted.first < 3) return `the pod range ${podCidr} has no room for a gateway and a pod`;

  const routes = parseRoutes(tables.route);
  const taken = routes.find((route) => route.device !== bridge && !isDefault(route) && overlap(route.range, wanted));
  if (taken) return `the pod range ${podCidr} overlaps ${rangeText(taken.range)} on ${taken.device}; choose another`;

  const ours = routes.filter((route) => route.device === bridge);
  const address = parseLocalAddresses(tables.fibTrie).find(
    (local) => overlap(local, wanted) && !ours.some((route) => overlap(local, route.range)),
  );
  if (!address) return undefined;
  return `the pod range ${podCidr} holds this machine's own address ${addressText(address.first)}; choose another`;
}

function isDefault({ range }: Route): boolean {
  return range.first === 0 && range.last === 2 ** 32 - 1;
}
