/** Groups of NodeConformance that systemd, cgroup v2 or AppArmor can change, and those of the life of a pod. */
export const VM_GROUPS: readonly string[] = [
  'AppArmor',
  'Kubelet Cgroup Manager',
  'Kubelet PodOverhead',
  'Security Context',
  'Sysctls',
  'Container Lifecycle Hook',
  'InitContainer',
  'Container Runtime blackbox test on terminated container',
  'Terminate Pods',
  'Pod SIGKILL',
  'Pods should support remote command execution',
];

/** Repositories of the images of their specs. */
export const VM_GROUPS_IMAGES: readonly string[] = ['agnhost', 'busybox', 'nonewprivs', 'nonroot'].map(
  (name) => `e2e-test-images/${name}`,
);

/** A regular expression of their specs: labels, such as `[sig-node]`, come first. */
export const VM_GROUPS_FOCUS = VM_GROUPS.map((group) => `\\] ${group}`).join('|');
