import { amountsOf, type ResourceList } from '../api/pod-resources.ts';
import type { NodeView } from '../kubelet/admission/admit-pod.ts';
import { type HostFacts, readHostFacts } from '../kubelet/resources/host-facts.ts';
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
}

export async function learnFacts({ host, cri, settings }: AgentParts, signal: AbortSignal): Promise<AgentFacts> {
  const { nodeName, maxPods, memoryCapacityBytes } = settings;
  const hostFacts = await readHostFacts(host);
  const { runtimeName } = await cri.runtime.version({ version: '' }, signal);
  const { features } = await cri.runtime.status({ verbose: false }, signal);
  const allocatable = { cpu: String(hostFacts.cpuCount), memory: String(memoryCapacityBytes) };
  const node = {
    nodeName,
    maxPods,
    labels: nodeLabels(nodeName),
    allocatable: amountsOf(allocatable),
    host: hostFacts,
    supportsSupplementalGroupsPolicy: features?.supplementalGroupsPolicy ?? false,
  };
  return { hostFacts, runtimeName, allocatable, node };
}
