import type { HostAlias, Pod } from '../../../api/generated/core-v1.ts';
import { podHostname } from './hostname.ts';

/** The /etc/hosts of a pod with its own network namespace. */
export function podHostsFile(pod: Pod, podIPs: readonly string[], clusterDomain: string): string {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [
    '# Kubernetes-managed hosts file.',
    '127.0.0.1\tlocalhost',
    '::1\tlocalhost ip6-localhost ip6-loopback',
    'fe00::0\tip6-localnet',
    'fe00::0\tip6-mcastprefix',
    'fe00::1\tip6-allnodes',
    'fe00::2\tip6-allrouters',
    ...podIPs.map((ip) => `${ip}\t${names}`),
  ];
  return `${lines.join('\n')}\n${aliasLines(pod.spec.hostAliases)}`;
}

/** The /etc/hosts of a pod on the host network: the node's file and the pod's aliases. */
export function hostNetworkHostsFile(pod: Pod, nodeHostsFile: string): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeHostsFile}${aliasLines(pod.spec.hostAliases)}`;
}

function aliasLines(aliases: readonly HostAlias[] | undefined): string {
  if (!aliases || aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
