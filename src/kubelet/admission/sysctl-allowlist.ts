import type { Pod } from '../../api/generated/core-v1.ts';
import { type KernelVersion, kernelAtLeast } from '../resources/host-facts.ts';

interface SafeSysctl {
  readonly namespace: 'IPC' | 'Net';
  /** The kernel from which on each namespace has its own value. */
  readonly since?: readonly [major: number, minor: number];
}

/** What a pod may set without harm to others. */
const SAFE: ReadonlyMap<string, SafeSysctl> = new Map([
  ['kernel.shm_rmid_forced', { namespace: 'IPC' }],
  ['net.ipv4.ip_local_port_range', { namespace: 'Net' }],
  ['net.ipv4.tcp_syncookies', { namespace: 'Net' }],
  ['net.ipv4.ping_group_range', { namespace: 'Net' }],
  ['net.ipv4.ip_unprivileged_port_start', { namespace: 'Net' }],
  ['net.ipv4.ip_local_reserved_ports', { namespace: 'Net', since: [3, 16] }],
  ['net.ipv4.tcp_keepalive_time', { namespace: 'Net', since: [4, 5] }],
  ['net.ipv4.tcp_fin_timeout', { namespace: 'Net', since: [4, 6] }],
  ['net.ipv4.tcp_keepalive_intvl', { namespace: 'Net', since: [4, 5] }],
  ['net.ipv4.tcp_keepalive_probes', { namespace: 'Net', since: [4, 5] }],
  ['net.ipv4.tcp_rmem', { namespace: 'Net', since: [4, 15] }],
  ['net.ipv4.tcp_wmem', { namespace: 'Net', since: [4, 15] }],
]);

/** kubelet's message for the first sysctl that the pod may not set. */
export function forbiddenSysctl({ spec }: Pod, kernel: KernelVersion): string | undefined {
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const sysctl = dotted(name);
    const safe = SAFE.get(sysctl);
    if (!safe || (safe.since && !kernelAtLeast(kernel, ...safe.since))) {
      return `forbidden sysctl: "${sysctl}" not allowlisted`;
    }
    const isOfHost = safe.namespace === 'IPC' ? spec.hostIPC : spec.hostNetwork;
    if (isOfHost) return `forbidden sysctl: "${sysctl}" not allowed with host ${safe.namespace} enabled`;
  }
  return undefined;
}

/** `net/ipv4/tcp_rmem` is `net.ipv4.tcp_rmem`; whichever of the two comes first separates. */
function dotted(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== '/') return name;
  return name.replace(/[./]/g, (char) => (char === '/' ? '.' : '/'));
}
