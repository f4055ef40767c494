import type { IncomingUpgrade, UpgradeDecision } from '../../host/network.ts';

/** Supported protocols by transport. */
export interface SupportedProtocols {
  readonly webSocket: Names;
  readonly spdy: Names;
}

interface Names {
  has(name: string): boolean;
  keys(): Iterable<string>;
}

export type UpgradeRejection = Extract<UpgradeDecision, { kind: 'refuse' }>;

export type NegotiatedUpgrade = UpgradeRejection | { readonly kind: 'webSocket' | 'spdy'; readonly protocol: string };

const SPDY = 'spdy/3.1';
const HEADER = 'X-Stream-Protocol-Version';

/** Picks the first supported protocol that the client offers, or rejects the upgrade with the messages of other runtimes. */
export function negotiateUpgrade(
  { upgrade, protocols }: IncomingUpgrade,
  supported: SupportedProtocols,
): NegotiatedUpgrade {
  if (upgrade === 'websocket') {
    const offered = protocols.length === 0 ? [''] : protocols;
    const protocol = offered.find((each) => supported.webSocket.has(each));
    if (protocol !== undefined) return { kind: 'webSocket', protocol };
    const known = [...supported.webSocket.keys()].filter(Boolean).join(' ');
    return rejectUpgrade(403, `requested protocol(s) are not supported: [${protocols.join(' ')}]; supports [${known}]`);
  }
  if (protocols.length === 0)
    return rejectUpgrade(400, `unable to upgrade: header ${HEADER} does not exist in request`);
  const protocol = protocols.find((each) => supported.spdy.has(each));
  if (protocol === undefined) {
    const known = [...supported.spdy.keys()];
    const why = `client supports [${protocols.join(' ')}], server accepts [${known.join(' ')}]`;
    return {
      ...rejectUpgrade(403, `unable to upgrade: unable to negotiate protocol: ${why}`),
      headers: [['X-Accepted-Stream-Protocol-Versions', known.join(', ')]],
    };
  }
  if (upgrade.toLowerCase() !== SPDY)
    return rejectUpgrade(400, 'unable to upgrade: missing upgrade headers in request');
  return { kind: 'spdy', protocol };
}

export function rejectUpgrade(status: number, message: string): UpgradeRejection {
  return { kind: 'refuse', status, message: `${message}\n` };
}
