import type { TlsSettings } from '../../../host/network.ts';

export type Headers = ReadonlyArray<readonly [name: string, value: string]>;

/** `pull`: what a digest names; `resolve`: which digest a tag stands for. */
export type Capability = 'pull' | 'resolve';

export const ALL_CAPABILITIES: ReadonlySet<Capability> = new Set(['pull', 'resolve']);

/** Somewhere an image may be: its registry, or a mirror of that. */
export interface RegistryHost {
  readonly scheme: 'http' | 'https';
  /** With the port, if there is one: `localhost:5000`, `[::1]:5000`. */
  readonly authority: string;
  /** What stands before repositories: `/v2`. */
  readonly path: string;
  readonly capabilities: ReadonlySet<Capability>;
  readonly tls: TlsSettings | undefined;
  readonly skipVerify: boolean;
  /** HTTPS is tried first; where that is not spoken, plain HTTP counts. */
  readonly mayBePlain: boolean;
  /** Sent with every request to it, and to nobody else. */
  readonly headers: Headers;
  readonly dialTimeoutMs: number | undefined;
}

/** `https://mirror.example.com/v2` */
export function hostUrl({ scheme, authority, path }: Pick<RegistryHost, 'scheme' | 'authority' | 'path'>): string {
  return `${scheme}://${authority}${path}`;
}

/** Whether it has to be told whose images it is asked for. */
export function isMirror({ authority }: RegistryHost, registry: string): boolean {
  return authority !== registry && !(registry === 'docker.io' && authority === DOCKER_HUB);
}

const DOCKER_HUB = 'registry-1.docker.io';

/** Where a registry is when nobody says otherwise: the first part of an image name, such as `docker.io`. */
export function defaultPlace(registry: string): DefaultPlace {
  if (registry === 'docker.io') return { scheme: 'https', authority: DOCKER_HUB, skipVerify: undefined };
  if (!isThisMachine(registry)) return { scheme: 'https', authority: registry, skipVerify: undefined };
  const port = portOf(registry);
  const scheme = port === undefined || port === '443' ? 'https' : 'http';
  return { scheme, authority: registry, skipVerify: port === '80' ? undefined : true };
}

interface DefaultPlace {
  readonly scheme: 'http' | 'https';
  readonly authority: string;
  /** Where a certificate need not be looked at: on this machine. */
  readonly skipVerify: true | undefined;
}

/**
 * As containerd has it: a place that is said to speak HTTP, and of which something is said about TLS, is tried with TLS
 * first, unless its port leaves no doubt.
 */
export function speech(
  { scheme, authority }: { readonly scheme: 'http' | 'https'; readonly authority: string },
  hasTlsSettings: boolean,
): Pick<RegistryHost, 'scheme' | 'mayBePlain'> {
  const isInDoubt = scheme === 'http' && hasTlsSettings && portOf(authority) !== '80';
  return isInDoubt ? { scheme: 'https', mayBePlain: true } : { scheme, mayBePlain: false };
}

function isThisMachine(authority: string): boolean {
  const host = authority.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function portOf(authority: string): string | undefined {
  return /:(\d+)$/.exec(authority)?.[1];
}
