export interface DefaultBridge {
  /** The name of the bridge, and of the network. */
  readonly bridge: string;
  /** One range for each family. */
  readonly podCidrs: readonly string[];
  /** Where host-local keeps who has which address. */
  readonly ipamDir: string;
}

/**
 * The network of `nodelet run`: a bridge that is the pods' gateway, and host ports. Its addresses are hidden behind the
 * machine's by one rule for all pods (`masqueradeRules`), not by the plugin, which would make and remove a chain of its own
 * for each pod: more work than all the rest of ADD and DEL together.
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

/** A rule of the table `nat`; `-C`, `-A` and `-D` take the same words. */
export interface MasqueradeRule {
  readonly program: 'iptables' | 'ip6tables';
  readonly rule: readonly string[];
}

/** What pods send to anywhere but their bridge goes out under the machine's address. */
export function masqueradeRules({ bridge, podCidrs }: Pick<DefaultBridge, 'bridge' | 'podCidrs'>): MasqueradeRule[] {
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
