import type { KnownReason } from './page.ts';

/** Why specs that kubelet passes do not pass on Nodelet. */
export const REASONS: readonly KnownReason[] = [
  {
    spec: /^Mount recursive read-only .* when the runtime does not support recursive read-only mounts/,
    reason:
      'for runtimes without recursive read-only mounts only; this one has them, and passes the two specs for that case',
  },
];

/** Why specs do not pass on kubelet either: what the machine, or the node made on it, lacks. */
export const MACHINE_REASONS: readonly KnownReason[] = [
  { spec: /^PrivilegedPod /, reason: 'the kernel has no network devices of the type dummy' },
  {
    spec: /^ContainerMetrics /,
    reason: 'the blkio cgroups of the kernel have no statistics by device',
  },
  {
    spec: /^Summary API /,
    reason:
      'the node of these tests has no traffic on its network device, and its runtime no cgroup of its own. On cgroup v1 Nodelet has no PSI, for which kubelet shows zeros',
  },
];
