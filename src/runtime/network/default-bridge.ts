import { DEFAULT_PATH } from '../../base/default-path.ts';
import type { Processes } from '../../host/processes.ts';

export interface DefaultBridge {
  /** Name of the bridge and of the network. */
  readonly bridge: string;
  /** One range for each IP family. */
  readonly podCidrs: readonly string[];
  /** Where host-local stores its allocations. */
  readonly ipamDir: string;
}

/**
 * The network of `nodelet run`: a bridge that is the pods' gateway, and host ports. Outgoing traffic is masqueraded by
 * one rule for all pods (`masqueradeRules`), not by the plugin, which would create and remove one chain for each pod:
 * more work than the rest of ADD and DEL together.
 */
export function defaultBridgeConfig({ bridge, podCidrs, ipamDir }: DefaultBridge): string {
  const network = {
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
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
  return `${JSON.stringify(network, undefined, 2)}\n`;
}

/** A rule of the table `nat`; `-C`, `-A` and `-D` take the same arguments. */
interface MasqueradeRule {
  readonly program: 'iptables' | 'ip6tables';
  readonly rule: readonly string[];
}

/** Masquerades traffic of pods that leaves their bridge. */
function masqueradeRules({ bridge, podCidrs }: Pick<DefaultBridge, 'bridge' | 'podCidrs'>): MasqueradeRule[] {
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
type Bridge = Pick<DefaultBridge, 'bridge' | 'podCidrs'>;

/** Masquerades the traffic of the default bridge. Idempotent; the rule outlives the process, as the bridge does. */
export async function ensureMasquerade(processes: Runner, bridge: Bridge, signal: AbortSignal): Promise<void> {
  for (const rule of masqueradeRules(bridge)) {
    if ((await iptables(processes, '-C', rule, signal)).exitCode === 0) continue;
    const { exitCode, stderr } = await iptables(processes, '-A', rule, signal);
    if (exitCode === 0) continue;
    throw new Error(`cannot masquerade ${bridge.podCidrs.join(', ')}: ${stderr}`);
  }
}

/** A missing rule is not an error. */
export async function removeMasquerade(processes: Runner, bridge: Bridge, signal: AbortSignal): Promise<void> {
  for (const rule of masqueradeRules(bridge)) await iptables(processes, '-D', rule, signal);
}

async function iptables(processes: Runner, verb: string, { program, rule }: MasqueradeRule, signal: AbortSignal) {
  const args = ['--wait', '--table', 'nat', verb, ...rule];
  const { exitCode, stderr } = await processes.run({ program, args, env: { PATH: DEFAULT_PATH } }, signal);
  return { exitCode, stderr: new TextDecoder().decode(stderr).trim() };
}
