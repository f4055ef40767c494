import { amountsOf, type ResourceList } from '../api/pod-resources.ts';
import { goArchitecture } from '../base/go/go-architecture.ts';
import type { AdmissionView } from '../kubelet/admission/pod-admit-handler.ts';
import { initialNode, ownLabels } from '../kubelet/node/lifecycle/initial-node.ts';
import { readMachineResources } from '../kubelet/node/status/machine-resources.ts';
import { type MachineResources, nodeResources } from '../kubelet/node/status/node-resources.ts';
import { RuntimeFeatures } from '../kubelet/pleg/runtime-features.ts';
import { type HostFacts, readHostFacts } from '../kubelet/resources/host-facts.ts';
import type { AgentParts } from './agent.ts';

/** What admission looks at, besides the other pods. */
export type NodeFacts = Omit<AdmissionView, 'otherPods'>;

/** What does not change while the agent lives. */
export interface AgentFacts {
  readonly hostFacts: HostFacts;
  /** `containerd`: the prefix of container ids in statuses. */
  readonly runtimeName: string;
  /** What the machine had at the start. */
  readonly machine: MachineResources;
  /** What pods may use of it. */
  readonly allocatable: ResourceList;
  /** As the agent itself sees its node; the API server may have it otherwise. */
  readonly node: NodeFacts;
  /** As of the start, and whenever the runtime is asked again. */
  readonly runtimeFeatures: RuntimeFeatures;
}

export async function readAgentFacts(parts: AgentParts, signal: AbortSignal): Promise<AgentFacts> {
  const { host, cri, settings, apiServer } = parts;
  const { nodeName, maxPods, memoryCapacityBytes: memoryBytes, rootDir } = settings;
  const hostFacts = await readHostFacts(host);
  const { runtimeName } = await cri.runtime.version({ version: '' }, signal);
  const status = await cri.runtime.status({ verbose: false }, signal);
  const machine = await readMachineResources({ cpuCount: hostFacts.cpuCount, memoryBytes }, rootDir, host.fs);
  const allocatable = allocatableOf(machine, parts);
  const node = {
    nodeName,
    maxPods: Number(allocatable['pods'] ?? maxPods),
    labels: labelsOf(parts),
    allocatable: amountsOf(allocatable),
    host: hostFacts,
    supportsSupplementalGroupsPolicy: status.features?.supplementalGroupsPolicy ?? false,
    allowedUnsafeSysctls: settings.allowedUnsafeSysctls,
    hasApiServer: apiServer !== undefined,
    gates: settings,
  };
  const runtimeFeatures = new RuntimeFeatures(cri.runtime, status);
  return { hostFacts, runtimeName, machine, allocatable, node, runtimeFeatures };
}

/** Who is no node of anybody keeps nothing back. */
function allocatableOf(machine: MachineResources, { node }: AgentParts): ResourceList {
  const { cpuCount, memoryBytes, hugePages } = machine;
  if (node) return nodeResources(machine, node).allocatable;
  return { cpu: String(cpuCount), memory: String(memoryBytes), ...hugePages };
}

function labelsOf({ node, settings: { nodeName } }: AgentParts): Readonly<Record<string, string>> {
  if (!node) return ownLabels({ nodeName, architecture: goArchitecture() });
  return initialNode(node).metadata.labels ?? {};
}
