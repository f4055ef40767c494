/** Groups of specs that `make test` runs on Nodelet with its own runtime: quick ones, of many parts of an agent. */
const GROUPS: readonly string[] = [
  'Container Runtime blackbox test',
  'Containers should',
  'Deleted pods handling',
  'Downward API should',
  'EmptyDir volumes should',
  'Ephemeral Containers',
  'Kubelet when scheduling',
  'KubeletManagedEtcHosts',
  'MirrorPod when create a mirror pod',
  'NodeLease',
  'Pods should',
  'Security Context',
  'Sysctls',
];

/** A regular expression of their specs: labels, such as `[sig-node]`, come first. */
export const GROUPS_FOCUS = GROUPS.map((group) => `\\] ${group}`).join('|');
