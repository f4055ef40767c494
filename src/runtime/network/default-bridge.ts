import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { Processes } from '../../host/processes.ts';
import { UNAVAILABLE_PLUGIN } from './built-in-plugins.ts';
import { HOST_PORTS_PLUGIN } from './host-ports.ts';
import { masqueradeScript, tableRemovalScript } from './nft-table.ts';
import { runNft } from './run-nft.ts';

/** Which program changes the rules of the kernel: the plugin portmap needs `iptables`, our own table needs `nft`. */
export type NatBackend = 'iptables' | 'nftables';

export interface DefaultBridge {
  readonly backend: NatBackend;
  /** Name of the bridge and of the network. */
  readonly bridge: string;
  /** One range for each IP family. */
  readonly podCidrs: readonly string[];
  /** Where host-local stores its allocations. */
  readonly ipamDir: string;
}

/**
 * The network of `nodelet run`: a bridge that is the pods' gateway, and host ports. Outgoing traffic is masqueraded by
 * one rule for all pods (`ensureMasquerade`), not by the plugin, which would create and remove one chain for each pod:
 * more work than the rest of ADD and DEL together.
 */
export function defaultBridgeConfig({ backend, bridge, podCidrs, ipamDir }: DefaultBridge): string {
  const capabilities = { portMappings: true };
  return networkList({
    cniVersion: '1.0.0',
    name: bridge,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: ipamDir,
          ranges: podCidrs.map((subnet) => [{ subnet }]),
          routes: podCidrs.map((cidr) => ({ dst: isIpv6(cidr) ? '::/0' : '0.0.0.0/0' })),
        },
      },
      backend === 'iptables' ? { type: 'portmap', capabilities } : { type: HOST_PORTS_PLUGIN, bridge, capabilities },
    ],
  });
}

/** A network that is not ready, with the reason: only pods on the machine's own network run. */
export function unavailableConfig(bridge: string, error: string): string {
  return networkList({ cniVersion: '1.1.0', name: bridge, plugins: [{ type: UNAVAILABLE_PLUGIN, error }] });
}

function networkList(list: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify(list, undefined, 2)}\n`;
}

/** A rule of the table `nat`; `-C` and `-A` take the same arguments. */
interface MasqueradeRule {
  readonly program: 'iptables' | 'ip6tables';
  readonly rule: readonly string[];
}

/** Masquerades traffic of pods that leaves their bridge. */
function masqueradeRules({ bridge, podCidrs }: Bridge): MasqueradeRule[] {
  return podCidrs.map((cidr) => ({
    program: isIpv6(cidr) ? 'ip6tables' : 'iptables',
    rule: [
      'POSTROUTING',
      ...['-s', cidr],
      ...['!', '-o', bridge],
      ...['-m', 'comment', '--comment', `nodelet ${bridge}`],
      ...['-j', 'MASQUERADE'],
    ],
  }));
}

function isIpv6(cidr: string): boolean {
  return cidr.includes(':');
}

type Runner = Pick<Processes, 'run'>;
type Bridge = Pick<DefaultBridge, 'backend' | 'bridge' | 'podCidrs'>;

/** Masquerades the traffic of the default bridge. Idempotent; the rule outlives the process, as the bridge does. */
export async function ensureMasquerade(processes: Runner, bridge: Bridge, signal: AbortSignal): Promise<void> {
  if (bridge.backend === 'nftables') {
    const input = masqueradeScript(bridge.bridge, bridge.podCidrs);
    const { exitCode, stderr } = await runNft(processes, { args: ['--file', '-'], env: ENV, input }, signal);
    if (exitCode !== 0) throw new Error(`cannot masquerade ${bridge.podCidrs.join(', ')}: ${stderr}`);
    return;
  }
  for (const rule of masqueradeRules(bridge)) {
    if ((await iptables(processes, '-C', rule, signal)).exitCode === 0) continue;
    const { exitCode, stderr } = await iptables(processes, '-A', rule, signal);
    if (exitCode === 0) continue;
    throw new Error(`cannot masquerade ${bridge.podCidrs.join(', ')}: ${stderr}`);
  }
}

/** Removes the nftables table of a bridge. A missing table is not an error. */
export async function removeTable(processes: Runner, bridge: string, signal: AbortSignal): Promise<void> {
  const input = tableRemovalScript(bridge);
  const { exitCode, stderr } = await runNft(processes, { args: ['--file', '-'], env: ENV, input }, signal);
  if (exitCode !== 0) throw new Error(`cannot remove the nftables rules of ${bridge}: ${stderr}`);
}

const ENV = { PATH: DEFAULT_PATH };

async function iptables(processes: Runner, verb: string, { program, rule }: MasqueradeRule, signal: AbortSignal) {
  const args = ['--wait', '--table', 'nat', verb, ...rule];
  const { exitCode, stderr } = await processes.run({ program, args, env: ENV }, signal);
  return { exitCode, stderr: new TextDecoder().decode(stderr).trim() };
}
