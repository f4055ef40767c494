import type { Metric, Sample } from '../../base/metrics/metric-registry.ts';
import type { AgentView } from '../explain/agent-view.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';

/** The Kubernetes version that the agent implements, and its platform. */
export interface BuildInfo {
  readonly kubernetesVersion: string;
  /** `linux/amd64` */
  readonly platform: string;
}

/** Metrics of the agent and its pods, under kubelet's names. */
export function agentMetrics(view: Pick<AgentView, 'nodeName' | 'pods'>, build: BuildInfo): readonly Metric[] {
  const observed = view.pods().flatMap((report) => report.observed ?? []);
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(build.kubernetesVersion) ?? [];
  const version = { git_version: build.kubernetesVersion, major, minor, platform: build.platform };
  return [
    {
      name: 'kubelet_node_name',
      type: 'gauge',
      help: "[ALPHA] The node's name. The count is always 1.",
      samples: [{ labels: { node: view.nodeName }, value: 1 }],
    },
    {
      name: 'kubelet_running_pods',
      type: 'gauge',
      help: '[ALPHA] Number of pods that have a running pod sandbox',
      samples: [{ value: observed.filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length }],
    },
    {
      name: 'kubelet_running_containers',
      type: 'gauge',
      help: '[ALPHA] Number of containers currently running',
      samples: containersByState(observed),
    },
    {
      name: 'kubernetes_build_info',
      type: 'gauge',
      help: '[BETA] The version of Kubernetes that this node agent stands for, and its platform',
      samples: [{ labels: version, value: 1 }],
    },
  ];
}

function containersByState(observed: readonly ObservedPod[]): readonly Sample[] {
  const all = Map.groupBy(
    observed.flatMap(({ containers }) => containers),
    ({ state }) => state,
  );
  return [...all].map(([state, containers]) => ({ labels: { container_state: state }, value: containers.length }));
}
