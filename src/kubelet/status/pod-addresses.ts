import type { PodStatus } from '../../api/generated/core-v1.ts';
import type { PodStatusView } from './pod-status-view.ts';

type Addresses = Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'>;

/** The addresses of the node and of the pod, primary first; unknown ones are left out. */
export function podAddresses(view: PodStatusView, previous: PodStatus | undefined): Addresses {
  const hostIPs = view.hostIPs.map((ip) => ({ ip }));
  const podIPs = computePodIPs(view, previous).map((ip) => ({ ip }));
  const [host] = hostIPs;
  const [pod] = podIPs;
  return { ...(host && { hostIP: host.ip, hostIPs }), ...(pod && { podIP: pod.ip, podIPs }) };
}

/** A pod keeps its last addresses after its sandbox has stopped. */
function computePodIPs({ pod, observed, hostIPs }: PodStatusView, previous: PodStatus | undefined): string[] {
  const known = previous?.podIPs?.map(({ ip }) => ip) ?? [];
  if (pod.spec.hostNetwork) {
    const [first] = known;
    const added = first === undefined ? hostIPs : hostIPs.slice(1).filter((ip) => isIPv6(ip) !== isIPv6(first));
    return known.length > 1 ? known : [...known, ...added];
  }
  const [newest] = observed?.sandboxes ?? [];
  if (newest?.ready) return inNodeOrder(newest.ips, hostIPs[0]);
  return known;
}

/** One address of each family, the node's primary family first. */
function inNodeOrder(ips: readonly string[], nodeIP: string | undefined): string[] {
  const wantsIPv6 = nodeIP !== undefined && isIPv6(nodeIP);
  return [wantsIPv6, !wantsIPv6].flatMap((family) => ips.filter((ip) => isIPv6(ip) === family).slice(0, 1));
}

function isIPv6(ip: string): boolean {
  return ip.includes(':');
}
