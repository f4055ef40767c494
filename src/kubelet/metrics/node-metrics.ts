import { gauge, sampled } from '../../base/metrics/declaration.ts';
import type { Metric } from '../../base/metrics/metric-registry.ts';

const NODE_NAME = gauge('kubelet_node_name', "The node's name. The count is always 1.", { labels: ['node'] });
const BUILD_INFO = gauge(
  'kubernetes_build_info',
  "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
  { labels: ['git_version', 'major', 'minor', 'platform'], stability: 'BETA' },
);
const CGROUP_VERSION = gauge('kubelet_cgroup_version', 'cgroup version on the hosts.');
const FEATURES = gauge(
  'kubernetes_feature_enabled',
  'This metric records the data about the stage and enablement of a k8s feature.',
  { labels: ['name', 'stage'], stability: 'BETA' },
);

export const NODE_DECLARATIONS = [NODE_NAME, BUILD_INFO, CGROUP_VERSION, FEATURES];

export interface FeatureState {
  readonly name: string;
  /** Empty: generally available. */
  readonly stage: string;
  readonly isEnabled: boolean;
}

/** What does not change while the agent runs. */
export interface NodeFacts {
  readonly nodeName: string;
  /** The Kubernetes version that the agent implements: `v1.36.4` */
  readonly kubernetesVersion: string;
  /** `linux/amd64` */
  readonly platform: string;
  readonly cgroupVersion: 'v1' | 'v2';
  readonly features: readonly FeatureState[];
}

export function nodeMetrics(facts: NodeFacts): readonly Metric[] {
  const { nodeName, kubernetesVersion, platform, cgroupVersion, features } = facts;
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(kubernetesVersion) ?? [];
  return [
    sampled(NODE_NAME, [{ labels: { node: nodeName }, value: 1 }]),
    sampled(BUILD_INFO, [{ labels: { git_version: kubernetesVersion, major, minor, platform }, value: 1 }]),
    sampled(CGROUP_VERSION, [{ value: cgroupVersion === 'v2' ? 2 : 1 }]),
    sampled(
      FEATURES,
      features.map(({ name, stage, isEnabled }) => ({ labels: { name, stage }, value: Number(isEnabled) })),
    ),
  ];
}
