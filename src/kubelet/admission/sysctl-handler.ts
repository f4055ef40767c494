import type { Pod } from '../../api/generated/core-v1.ts';
import { type KernelVersion, kernelAtLeast } from '../resources/host-facts.ts';
import { dottedSysctl } from '../sync/config/sysctl-name.ts';
import type { PodAdmitHandler } from './pod-admit-handler.ts';

type SysctlNamespace = 'IPC' | 'Net';

interface SafeSysctl {
  readonly namespace: SysctlNamespace;
  /** The first kernel that keeps a value for each namespace. */
  readonly since?: readonly [major: number, minor: number];
}

/** Sysctls that a pod may set without affecting other pods. */
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

/**
 * Sysctls with a value for each IPC namespace. `kernel.shm` and `kernel.msg` are prefixes: a pattern such as
 * `kernel.shm*` is looked up without its star.
 */
const IPC: ReadonlySet<string> = new Set(
  ['sem', 'shm', 'shmall', 'shmmax', 'shmmni', 'shm_rmid_forced', 'msg', 'msgmax', 'msgmnb', 'msgmni'].map(
    (name) => `kernel.${name}`,
  ),
);

/** Rejects pods that set a sysctl which is neither safe nor allowed on this node. */
export const sysctlHandler: PodAdmitHandler = (pod, { host, allowedUnsafeSysctls }) => {
  const message = forbiddenSysctl(pod, host.kernel, allowedUnsafeSysctls);
  return message === undefined ? undefined : { reason: 'SysctlForbidden', message };
};

/** kubelet's message for the first forbidden sysctl. `unsafe`: names, or prefixes that end with `*`. */
function forbiddenSysctl({ spec }: Pod, kernel: KernelVersion, unsafe: readonly string[] = []): string | undefined {
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const sysctl = dottedSysctl(name);
    const namespace = safeNamespace(sysctl, kernel) ?? unsafeNamespace(sysctl, unsafe);
    if (namespace === undefined) return `forbidden sysctl: "${sysctl}" not allowlisted`;
    const isOfHost = namespace === 'IPC' ? spec.hostIPC : spec.hostNetwork;
    if (isOfHost) return `forbidden sysctl: "${sysctl}" not allowed with host ${namespace} enabled`;
  }
  return undefined;
}

const MAX_PATTERN = 253;
const PATTERN = '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]';

/** kubelet's message for an invalid pattern in `allowedUnsafeSysctls`. */
export function unsafeSysctlError(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN || !new RegExp(`^${PATTERN}$`).test(pattern)) {
    return `sysctl "${pattern}" must have at most ${MAX_PATTERN} characters and match regex ${PATTERN}`;
  }
  const { start } = parsePattern(pattern);
  return namespaceOf(start) ? undefined : `the sysctls "${start}" are not known to be namespaced`;
}

function safeNamespace(sysctl: string, kernel: KernelVersion): SysctlNamespace | undefined {
  const safe = SAFE.get(sysctl);
  return safe && (!safe.since || kernelAtLeast(kernel, ...safe.since)) ? safe.namespace : undefined;
}

function unsafeNamespace(sysctl: string, patterns: readonly string[]): SysctlNamespace | undefined {
  const allowed = patterns
    .map(parsePattern)
    .find(({ start, isPrefix }) => (isPrefix ? sysctl.startsWith(start) : sysctl === start));
  return allowed && namespaceOf(allowed.start);
}

function parsePattern(pattern: string): { readonly start: string; readonly isPrefix: boolean } {
  const name = dottedSysctl(pattern);
  const star = name.indexOf('*');
  return { start: star < 0 ? name : name.slice(0, star), isPrefix: star >= 0 };
}

function namespaceOf(sysctl: string): SysctlNamespace | undefined {
  if (IPC.has(sysctl) || sysctl.startsWith('fs.mqueue.')) return 'IPC';
  return sysctl.startsWith('net.') ? 'Net' : undefined;
}
