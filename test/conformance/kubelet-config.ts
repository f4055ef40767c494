/** That of Kubernetes' own jobs (test/e2e_node/jenkins/default-kubelet-config.yaml), also on a machine with cgroup v1. */
export const KUBELET_CONFIG = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  cgroupRoot: '/',
  podCIDR: '10.100.0.0/24',
  volumeStatsAggPeriod: '10s',
  fileCheckFrequency: '10s',
  evictionPressureTransitionPeriod: '30s',
  evictionHard: { 'memory.available': '250Mi', 'nodefs.available': '10%', 'nodefs.inodesFree': '5%' },
  evictionMinimumReclaim: { 'nodefs.available': '5%', 'nodefs.inodesFree': '5%' },
  serializeImagePulls: false,
  failCgroupV1: false,
  failSwapOn: false,
  clusterDomain: 'cluster.local',
} as const;
