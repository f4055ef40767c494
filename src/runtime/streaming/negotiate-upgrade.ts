import type { UpgradeOffer, UpgradeVerdict } from '../../host/network.ts';

/** What is spoken, by what carries it. */
export interface SupportedProtocols {
  readonly webSocket: Names;
  readonly spdy: Names;
}

interface Names {
  has(name: string): boolean;
  keys(): Iterable<string>;
}

export type UpgradeRejection = Extract<UpgradeVerdict, { kind: 'refuse' }>;

export type Negotiated = UpgradeRejection | { readonly kind: 'webSocket' | 'spdy'; readonly protocol: string };

const SPDY = 'spdy/3.1';
const HEADER = 'X-Stream-Protocol-Version';

/** Whether a client can be served, and by which protocol: the first of those that it offers. In the words of other runtimes. */
export function negotiateUpgrade({ upgrade, protocols }: UpgradeOffer, spoken: SupportedProtocols): Negotiated {
  if (upgrade === 'websocket') {
    const offered = protocols.length === 0 ? [''] : protocols;
    const protocol = offered.find((each) => spoken.webSocket.has(each));
    if (protocol !== undefined) return { kind: 'webSocket', protocol };
    const known = [...spoken.webSocket.keys()].filter(Boolean).join(' ');
    return rejectUpgrade(403, `requested protocol(s) are not supported: [${protocols.join(' ')}]; supports [${known}]`);
  }
  if (protocols.length === 0) return rejectUpgrade(400, `unable to upgrade: header ${HEADER} does not exist in request`);
  const protocol = protocols.find((each) => spoken.spdy.has(each));
  if (protocol === undefined) {
    const known = [...spoken.spdy.keys()];
    const why = `client supports [${protocols.join(' ')}], server accepts [${known.join(' ')}]`;
    return {
      ...rejectUpgrade(403, `unable to upgrade: unable to negotiate protocol: ${why}`),
      headers: [['X-Accepted-Stream-Protocol-Versions', known.join(', ')]],
    };
  }
  if (upgrade.toLowerCase() !== SPDY) return rejectUpgrade(400, 'unable to upgrade: missing upgrade headers in request');
  return { kind: 'spdy', protocol };
}

export function rejectUpgrade(status: number, message: string): UpgradeRejection {
  return { kind: 'refuse', status, message: `${message}\n` };
}
