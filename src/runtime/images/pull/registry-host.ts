import type { TlsSettings } from '../../../host/network.ts';

export type Headers = ReadonlyArray<readonly [name: string, value: string]>;

/** `pull`: fetch by digest; `resolve`: resolve a tag to a digest. */
export type Capability = 'pull' | 'resolve';

export const ALL_CAPABILITIES: ReadonlySet<Capability> = new Set(['pull', 'resolve']);

/** A host to pull from: the registry, or a mirror of it. */
export interface RegistryHost {
  readonly scheme: 'http' | 'https';
  /** Host with optional port: `localhost:5000`, `[::1]:5000`. */
  readonly authority: string;
  /** Prefix of repositories: `/v2`. */
  readonly path: string;
  readonly capabilities: ReadonlySet<Capability>;
  readonly tls: TlsSettings | undefined;
  readonly skipVerify: boolean;
  /** HTTPS is tried first; plain HTTP is the fallback if the host does not speak TLS. */
  readonly fallsBackToHttp: boolean;
  /** Sent with every request to this host, and to no other. */
  readonly headers: Headers;
  readonly dialTimeoutMs: number | undefined;
}

/** `https://mirror.example.com/v2` */
export function hostUrl({ scheme, authority, path }: Pick<RegistryHost, 'scheme' | 'authority' | 'path'>): string {
  return `${scheme}://${authority}${path}`;
}

/** Whether requests need the `ns` parameter that names the registry. */
export function isMirror({ authority }: RegistryHost, registry: string): boolean {
  return authority !== registry && !(registry === 'docker.io' && authority === DOCKER_HUB);
}

const DOCKER_HUB = 'registry-1.docker.io';

/**
 * Returns the endpoint of a registry without configuration. `registry` is the first part of an image name, such as
 * `docker.io`.
 */
export function defaultEndpoint(registry: string): DefaultEndpoint {
  if (registry === 'docker.io') return { scheme: 'https', authority: DOCKER_HUB, skipVerify: undefined };
  if (!isLoopback(registry)) return { scheme: 'https', authority: registry, skipVerify: undefined };
  const port = portOf(registry);
  const scheme = port === undefined || port === '443' ? 'https' : 'http';
  return { scheme, authority: registry, skipVerify: port === '80' ? undefined : true };
}

interface DefaultEndpoint {
  readonly scheme: 'http' | 'https';
  readonly authority: string;
  /** Certificates of this machine are not verified. */
  readonly skipVerify: true | undefined;
}

/**
 * As in containerd, a host configured for HTTP that has TLS settings is tried with TLS first, unless its port is 80.
 */
export function chooseScheme(
  { scheme, authority }: { readonly scheme: 'http' | 'https'; readonly authority: string },
  hasTlsSettings: boolean,
): Pick<RegistryHost, 'scheme' | 'fallsBackToHttp'> {
  const isAmbiguous = scheme === 'http' && hasTlsSettings && portOf(authority) !== '80';
  return isAmbiguous ? { scheme: 'https', fallsBackToHttp: true } : { scheme, fallsBackToHttp: false };
}

function isLoopback(authority: string): boolean {
  const host = authority.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function portOf(authority: string): string | undefined {
  return /:(\d+)$/.exec(authority)?.[1];
}
