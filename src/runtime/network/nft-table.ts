/**
 * The nftables table of one bridge, as scripts for `nft --file -`. nft applies a script as one transaction. The name of the
 * bridge is in that of the table, so that each network has its own, and removing the table removes all rules.
 */
import type { ResultAddress } from './cni-result.ts';
import type { HostPort } from './host-ports.ts';

/** The dnat rules of pods, with the sandbox as the comment. */
const HOST_PORTS = 'hostports';
/** The masquerade rules of pods with host ports, with the sandbox as the comment. */
const HOST_PORT_SOURCES = 'hostport_postrouting';

const NAT_TO_POD = 'priority -100 ; policy accept ;';
const NAT_FROM_POD = 'priority 100 ; policy accept ;';

function table(bridge: string): string {
  return `inet nodelet-${bridge}`;
}

/** Masquerades traffic of `podCidrs` that leaves the bridge, and no other. Keeps host ports. */
export function masqueradeScript(bridge: string, podCidrs: readonly string[]): string {
  const rules = podCidrs.map((cidr) => `${familyOf(cidr)} saddr ${cidr} oifname != "${bridge}" masquerade`);
  return script(
    `add table ${table(bridge)}`,
    ...baseChain(bridge, 'postrouting', `nat hook postrouting ${NAT_FROM_POD}`, rules),
  );
}

/** Adds the host ports of a sandbox, and whatever else of the table they need. */
export function hostPortScript(
  bridge: string,
  sandboxId: string,
  addresses: readonly ResultAddress[],
  hostPorts: readonly HostPort[],
): string {
  const name = table(bridge);
  const toPods = [`fib daddr type local jump ${HOST_PORTS}`];
  // Pods must not reach the machine's own loopback services, which route_localnet would allow.
  const guard = [`iifname "${bridge}" ip daddr 127.0.0.0/8 ct state != { established, related } drop`];
  const rule = (chain: string, text: string): string => `add rule ${name} ${chain} ${text} comment "${sandboxId}"`;
  return script(
    `add table ${name}`,
    `add chain ${name} ${HOST_PORTS}`,
    ...baseChain(bridge, 'prerouting', `nat hook prerouting ${NAT_TO_POD}`, toPods),
    ...baseChain(bridge, 'output', `nat hook output ${NAT_TO_POD}`, toPods),
    ...baseChain(bridge, 'input', 'filter hook input priority 0 ; policy accept ;', guard),
    `add chain ${name} ${HOST_PORT_SOURCES} { type nat hook postrouting ${NAT_FROM_POD} }`,
    ...addresses.flatMap((address) => dnatRules(address, hostPorts).map((text) => rule(HOST_PORTS, text))),
    ...addresses.map((address) => rule(HOST_PORT_SOURCES, sourceRule(address))),
  );
}

/** Not an error if there is no table. */
export function tableRemovalScript(bridge: string): string {
  return script(`add table ${table(bridge)}`, `delete table ${table(bridge)}`);
}

/** The arguments of `nft` that list the table with the handles of its rules. */
export function listArguments(bridge: string): readonly string[] {
  return ['--handle', '--stateless', 'list', 'table', 'inet', `nodelet-${bridge}`];
}

/** Whether a list of all tables (`nft list tables`) has that of the bridge. */
export function hasTable(listed: string, bridge: string): boolean {
  return listed.split('\n').includes(`table ${table(bridge)}`);
}

export interface SandboxRule {
  readonly chain: string;
  readonly handle: string;
}

/** Finds the rules of a sandbox in the output of `listArguments`. */
export function sandboxRules(listed: string, sandboxId: string): readonly SandboxRule[] {
  let chain = '';
  return listed.split('\n').flatMap((line) => {
    chain = /^\s*chain (\S+) \{/.exec(line)?.[1] ?? chain;
    const [, comment, handle] = / comment "([^"]*)" # handle (\d+)$/.exec(line) ?? [];
    return handle !== undefined && comment === sandboxId ? [{ chain, handle }] : [];
  });
}

export function ruleRemovalScript(bridge: string, rules: readonly SandboxRule[]): string {
  return script(...rules.map(({ chain, handle }) => `delete rule ${table(bridge)} ${chain} handle ${handle}`));
}

/** The number of rules that `hostPortScript` adds for a sandbox. */
export function ruleCount(addresses: readonly ResultAddress[], hostPorts: readonly HostPort[]): number {
  return addresses.reduce((sum, address) => sum + dnatRules(address, hostPorts).length + 1, 0);
}

/** Creates a chain if needed, with these rules alone. */
function baseChain(bridge: string, chain: string, hook: string, rules: readonly string[]): readonly string[] {
  const name = `${table(bridge)} ${chain}`;
  return [
    `add chain ${name} { type ${hook} }`,
    `flush chain ${name}`,
    ...rules.map((rule) => `add rule ${name} ${rule}`),
  ];
}

/** As portmap: a host port with an address of the other IP family does not concern this address of the pod. */
function dnatRules({ ip }: ResultAddress, hostPorts: readonly HostPort[]): readonly string[] {
  const family = familyOf(ip);
  const target = family === 'ip6' ? `[${ip}]` : ip;
  return hostPorts.flatMap(({ protocol, hostPort, containerPort, hostIp }) => {
    if (hostIp !== undefined && familyOf(hostIp) !== family) return [];
    const isAny = hostIp === undefined || /^[0.:]+$/.test(hostIp);
    const match = isAny ? `meta nfproto ${family === 'ip6' ? 'ipv6' : 'ipv4'}` : `${family} daddr ${hostIp}`;
    return [`${match} ${protocol} dport ${hostPort} dnat ${family} to ${target}:${containerPort}`];
  });
}

/**
 * The pod answers other pods of its bridge directly, and cannot answer a loopback address: these clients must see the answer
 * come from the machine.
 */
function sourceRule({ ip, cidr }: ResultAddress): string {
  const family = familyOf(ip);
  const sources = family === 'ip6' ? cidr : `{ 127.0.0.0/8, ${cidr} }`;
  return `ct status dnat ${family} saddr ${sources} ${family} daddr ${ip} masquerade`;
}

function familyOf(address: string): 'ip' | 'ip6' {
  return address.includes(':') ? 'ip6' : 'ip';
}

function script(...commands: readonly string[]): string {
  return commands.map((command) => `${command}\n`).join('');
}
