import { amountsOf, type ResourceList } from '../api/pod-resources.ts';
import type { NodeView } from '../kubelet/admission/admit-pod.ts';
import { RuntimeFeatures } from '../kubelet/observe/runtime-features.ts';
import { type HostFacts, readHostFacts } from '../kubelet/resources/host-facts.ts';
import { hugePageCapacity } from '../kubelet/resources/huge-pages.ts';
import type { AgentParts } from './agent.ts';
import { nodeLabels } from './node-labels.ts';

/** What does not change while the agent lives. */
export interface AgentFacts {
  readonly hostFacts: HostFacts;
  /** `containerd`: the prefix of container ids in statuses. */
  readonly runtimeName: string;
  /** What pods may use of this machine. */
  readonly allocatable: ResourceList;
  /** What admission looks at, besides the other pods. */
  readonly node: Omit<NodeView, 'otherPods'>;
  /** As of the start, and whenever the runtime is asked again. */
  readonly runtimeFeatures: RuntimeFeatures;
}

export async function learnFacts({ host, cri, settings }: AgentParts, signal: AbortSignal): Promise<AgentFacts> {
  const { nodeName, maxPods, memoryCapacityBytes } = settings;
  const hostFacts = await readHostFacts(host);
  const { runtimeName } = await cri.runtime.version({ version: '' }, signal);
  const status = await cri.runtime.status({ verbose: false }, signal);
  const allocatable = {
    cpu: String(hostFacts.cpuCount),
    memory: String(memoryCapacityBytes),
    ...(await hugePageCapacity(host.fs)),
  };
  const node = {
    nodeName,
    maxPods,
    labels: nodeLabels(nodeName),
    allocatable: amountsOf(allocatable),
    host: hostFacts,
    supportsSupplementalGroupsPolicy: status.features?.supplementalGroupsPolicy ?? false,
    allowedUnsafeSysctls: settings.allowedUnsafeSysctls,
    gates: settings,
  };
  const runtimeFeatures = new RuntimeFeatures(cri.runtime, status);
  return { hostFacts, runtimeName, allocatable, node, runtimeFeatures };
}
