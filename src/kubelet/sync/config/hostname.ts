import type { Pod } from '../../../api/generated/core-v1.ts';

/** One less than the kernel's 64 bytes, which end with a NUL. */
const HOSTNAME_MAX = 63;
const FQDN_MAX = 64;

export interface PodHostname {
  readonly hostname: string;
  /** `sub.namespace.svc.cluster.local`, or empty for a pod without a subdomain. */
  readonly domain: string;
}

/** What a pod calls itself, as it stands in its /etc/hosts. */
export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  if (spec.hostnameOverride !== undefined) return { hostname: fitHostname(spec.hostnameOverride), domain: '' };
  return {
    hostname: fitHostname(spec.hostname || metadata.name),
    domain: spec.subdomain ? `${spec.subdomain}.${metadata.namespace}.svc.${clusterDomain}` : '',
  };
}

/** What a pod's kernel calls itself. Throws when a full name is asked for that the kernel cannot hold. */
export function kernelHostname(pod: Pod, clusterDomain: string): string {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  if (domain === '' || !pod.spec.setHostnameAsFQDN) return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > FQDN_MAX) {
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long ` +
        `(${FQDN_MAX} characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return fqdn;
}

function fitHostname(hostname: string): string {
  return hostname.length <= HOSTNAME_MAX ? hostname : hostname.slice(0, HOSTNAME_MAX).replace(/[-.]+$/, '');
}
