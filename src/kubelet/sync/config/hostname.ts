import type { Pod } from '../../../api/generated/core-v1.ts';

/** The kernel's limit of 64 bytes includes the final NUL. */
const HOSTNAME_MAX = 63;
const FQDN_MAX = 64;

export interface PodHostname {
  readonly hostname: string;
  /** `sub.namespace.svc.cluster.local`, or empty for a pod without a subdomain. */
  readonly domain: string;
}

/** The host name and domain of a pod, as in its /etc/hosts. */
export function podHostname({ metadata, spec }: Pod, clusterDomain: string): PodHostname {
  if (spec.hostnameOverride !== undefined) return { hostname: fitHostname(spec.hostnameOverride), domain: '' };
  return {
    hostname: fitHostname(spec.hostname || metadata.name),
    domain: spec.subdomain ? `${spec.subdomain}.${metadata.namespace}.svc.${clusterDomain}` : '',
  };
}

/** The host name that is set in the pod's UTS namespace. Throws when an FQDN is requested that is too long. */
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
