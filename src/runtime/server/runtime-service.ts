import type { RuntimeService } from '../../cri/services.ts';
import type { NetworkNamespaces } from '../../host/network-namespaces.ts';
import type { PodNetwork } from '../network/pod-network.ts';
import type { RuntimeSettings } from '../settings/runtime-settings.ts';
import { type MetricsDeps, MetricsReader } from '../stats/metrics-reader.ts';
import { type StatsDeps, StatsReader } from '../stats/stats-reader.ts';
import { attach } from './attach.ts';
import type { ContainerVerbs } from './create-containers.ts';
import type { SandboxVerbs } from './create-sandboxes.ts';
import type { EventHub } from './event-hub.ts';
import { type ExecDeps, exec } from './exec.ts';
import { getContainerEvents } from './get-container-events.ts';
import { type PortForwardDeps, portForward } from './port-forward.ts';
import { runtimeConfig } from './runtime-config.ts';
import {
  containerStats,
  listContainerStats,
  listMetricDescriptors,
  listPodSandboxMetrics,
  listPodSandboxStats,
  podSandboxStats,
} from './stats-verbs.ts';
import { type StatusDeps, status } from './status.ts';
import { streamCalls } from './stream-list.ts';
import { type UpdatePodDeps, updatePodSandboxResources } from './update-pod-sandbox-resources.ts';
import { updateRuntimeConfig } from './update-runtime-config.ts';
import { version } from './version.ts';

export interface RuntimeServiceDeps
  extends Omit<StatsDeps, 'networkNamespaces'>,
    Omit<ExecDeps, 'containers'>,
    Pick<StatusDeps, 'info' | 'machine' | 'appArmor'>,
    Pick<UpdatePodDeps, 'nri'>,
    Pick<MetricsDeps, 'fs'> {
  readonly sandboxVerbs: SandboxVerbs;
  readonly containerVerbs: ContainerVerbs;
  readonly cgroupDriver: RuntimeSettings['cgroupDriver'];
  /** The program's version. */
  readonly version: string;
  readonly podNetwork: Pick<PodNetwork, 'status' | 'handlerStatuses' | 'setPodCidr'>;
  readonly events: Pick<EventHub, 'subscribe'>;
  readonly networkNamespaces: NetworkNamespaces;
  readonly network: PortForwardDeps['network'];
}

/** Every rpc of CRI's runtime service. */
export function createRuntimeService(deps: RuntimeServiceDeps): RuntimeService {
  const { sandboxVerbs, containerVerbs, podNetwork } = deps;
  const stats = new StatsReader(deps);
  const metrics = new MetricsReader({ ...deps, sizes: stats.sizes });
  const statistics = {
    containerStats: containerStats(deps, stats),
    listContainerStats: listContainerStats(deps, stats),
    podSandboxStats: podSandboxStats(deps, stats),
    listPodSandboxStats: listPodSandboxStats(deps, stats),
    listMetricDescriptors: listMetricDescriptors(),
    listPodSandboxMetrics: listPodSandboxMetrics(deps, metrics),
  };
  return {
    ...sandboxVerbs,
    ...containerVerbs,
    ...statistics,
    ...streamCalls({ ...sandboxVerbs, ...containerVerbs, ...statistics }),
    version: version(deps.version),
    status: status({ ...deps, network: podNetwork }),
    runtimeConfig: runtimeConfig(deps),
    updateRuntimeConfig: updateRuntimeConfig(podNetwork),
    updatePodSandboxResources: updatePodSandboxResources(deps),
    getContainerEvents: getContainerEvents(deps.events),
    exec: exec(deps),
    attach: attach(deps),
    portForward: portForward(deps),
  };
}
