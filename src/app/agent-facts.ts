import { amountsOf, type ResourceList } from '../api/pod-resources.ts';
import { goArchitecture } from '../base/go/go-architecture.ts';
import type { NodeFacts } from '../kubelet/admission/node-admission.ts';
import { initialNode, ownLabels } from '../kubelet/node/lifecycle/initial-node.ts';
import { readMachineResources } from '../kubelet/node/status/machine-resources.ts';
import { type MachineResources, nodeResources } from '../kubelet/node/status/node-resources.ts';
import { RuntimeFeatures } from '../kubelet/pleg/runtime-features.ts';
import { type HostFacts, readHostFacts } from '../kubelet/resources/host-facts.ts';
import { readSwapFacts, type SwapFacts } from '../kubelet/resources/swap-facts.ts';
import type { AgentParts } from './agent.ts';

/** Facts of the machine and the runtime, read once at start. */
export interface AgentFacts {
  readonly hostFacts: HostFacts;
  readonly swap: SwapFacts;
  /** `containerd`: the prefix of container ids in statuses. */
  readonly runtimeName: string;
  /** The resources of the machine. */
  readonly machine: MachineResources;
  /** The share of them that pods may use. */
  readonly allocatable: ResourceList;
  /** The node as admission sees it; the node object of the API server takes precedence. */
  readonly node: NodeFacts;
  /** Refreshed whenever the runtime is queried again. */
  readonly runtimeFeatures: RuntimeFeatures;
}

export async function readAgentFacts(parts: AgentParts, signal: AbortSignal): Promise<AgentFacts> {
  const { host, cri, settings, apiServer, log } = parts;
  const { nodeName, maxPods, memoryCapacityBytes: memoryBytes, rootDir } = settings;
  const hostFacts = await readHostFacts(host);
  if (settings.swapBehavior === 'LimitedSwap' && !hostFacts.swapControllerAvailable) {
    log.warn('memorySwap.swapBehavior LimitedSwap has no effect: the kernel does not limit swap by cgroup');
  }
  const swap = await readSwapFacts(host, hostFacts.kernel, rootDir);
  const { runtimeName } = await cri.runtime.version({ version: '' }, signal);
  const status = await cri.runtime.status({ verbose: false }, signal);
  const machine = await readMachineResources({ cpuCount: hostFacts.cpuCount, memoryBytes }, rootDir, host.fs);
  const allocatable = nodeAllocatable(machine, parts);
  const node = {
    nodeName,
    maxPods: Number(allocatable['pods'] ?? maxPods),
    labels: nodeLabels(parts),
    allocatable: amountsOf(allocatable),
    host: hostFacts,
    supportsSupplementalGroupsPolicy: status.features?.supplementalGroupsPolicy ?? false,
    allowedUnsafeSysctls: settings.allowedUnsafeSysctls,
    declaredFeatures: parts.node?.declaredFeatures,
    hasApiServer: apiServer !== undefined,
    // All pods of `nodelet run` are static: none could preempt another.
    preempts: parts.node !== undefined || apiServer !== undefined,
    gates: settings,
  };
  const runtimeFeatures = new RuntimeFeatures(cri.runtime, status);
  return { hostFacts, swap, runtimeName, machine, allocatable, node, runtimeFeatures };
}

/** A standalone node reserves nothing. */
function nodeAllocatable(machine: MachineResources, { node }: AgentParts): ResourceList {
  const { cpuCount, memoryBytes, hugePages } = machine;
  if (node) return nodeResources(machine, node).allocatable;
  return { cpu: String(cpuCount), memory: String(memoryBytes), ...hugePages };
}

function nodeLabels({ node, settings: { nodeName } }: AgentParts): Readonly<Record<string, string>> {
  if (!node) return ownLabels({ nodeName, architecture: goArchitecture() });
  return initialNode(node).metadata.labels ?? {};
}
