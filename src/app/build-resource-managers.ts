import type { Container, Pod, ResourceStatus } from '../api/generated/core-v1.ts';
import type { Part } from '../base/supervise.ts';
import type { CpuUsage } from '../kubelet/cpu-manager/cpu-manager.ts';
import type { DeviceCounts } from '../kubelet/node/status/node-resources.ts';
import { type ContainerRunOptions, mergeRunOptions } from '../kubelet/pod/container-run-options.ts';
import type { PodStep } from '../kubelet/pod/pod-step.ts';
import type { AllocatedResources } from '../kubelet/pod-resources/allocated-resources.ts';
import { composeAllocated } from '../kubelet/pod-resources/compose-allocated.ts';
import type { HasExclusiveCpus } from '../kubelet/resources/container-resources.ts';
import type { HintProvider } from '../kubelet/topology/hint-provider.ts';
import type { MachineTopology } from '../kubelet/topology/machine-topology.ts';
import { PodPlacement } from '../kubelet/topology/pod-placement.ts';
import { readMachineTopology } from '../kubelet/topology/read-machine-topology.ts';
import { nodeCountWarning, type TopologySettings, topologyOptions } from '../kubelet/topology/topology-options.ts';
import { type TopologyPolicy, topologyPolicy } from '../kubelet/topology/topology-policy.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';
import { buildCpuManager } from './build-cpu-manager.ts';
import type { AgentDevices } from './build-device-manager.ts';
import type { AgentDra } from './build-dra.ts';
import { buildMemoryManager } from './build-memory-manager.ts';
import type { AgentRuntime } from './build-runtime.ts';
import type { PodSignals } from './pod-signals.ts';

/** The managers of the machine's resources: CPUs, memory, devices, resource claims. */
export interface ResourceManagers {
  /** What pods are assigned before anything else of them is prepared, and keep until nothing of them runs. */
  readonly steps: readonly PodStep[];
  /** What the managers add to a container. */
  runOptions(pod: Pod, container: Container, signal: AbortSignal): Promise<ContainerRunOptions>;
  /** What containers have, for the pod resources API. */
  readonly allocated: AllocatedResources;
  /** `false` for all if the feature gate DisableCPUQuotaWithExclusiveCPUs is off. */
  readonly hasExclusiveCpus: HasExclusiveCpus;
  /** All sources have reported: pods that are not known ended while no agent was running. */
  onPodsKnown(uids: ReadonlySet<string>): void;
  /** The field `allocatedResourcesStatus` of a container. */
  resourceHealth(pod: Pod, container: string): readonly ResourceStatus[];
  /** The devices of plugins, as the node status shows them. */
  deviceCounts(): DeviceCounts;
  /** The number of devices in use by resource; `undefined` for a pod that has none. */
  devicesInUse(uid: string): ReadonlyMap<string, number> | undefined;
  /** `undefined` without the static policy of the CPU manager. */
  cpuUsage(): CpuUsage | undefined;
  readonly parts: readonly Part[];
}

/** A manager that adds something to containers. */
export type RunOptionsOf = (pod: Pod, container: Container, signal: AbortSignal) => Promise<ContainerRunOptions>;

const NO_TOPOLOGY: TopologySettings = { policy: 'none', scope: 'container', options: {} };

export interface ResourceManagersDeps {
  readonly devices: AgentDevices;
  /** Absent: pods have no resource claims. */
  readonly dra: AgentDra | undefined;
  readonly facts: AgentFacts;
  readonly runtime: Pick<AgentRuntime, 'observed'>;
  readonly signals: Pick<PodSignals, 'podObserved'>;
}

/** Rejects with kubelet's message if a manager cannot work with its configuration or its checkpoint. */
export async function buildResourceManagers(
  parts: AgentParts,
  {
    facts,
    runtime: { observed },
    signals,
    devices: { manager: devices, parts: deviceParts },
    dra,
  }: ResourceManagersDeps,
  life: AbortSignal,
): Promise<ResourceManagers> {
  const { settings, log } = parts;
  const readTopology = once(() => readMachineTopology(parts.host.fs));
  const { topologyManager = NO_TOPOLOGY } = settings;
  const policy = await buildTopologyPolicy(topologyManager, parts, readTopology);
  if (policy.name !== 'none') devices.setNumaNodes((await readTopology()).numaNodes.map(({ id }) => id));
  const cpu =
    settings.cpuManager && (await buildCpuManager(parts, { topology: await readTopology(), observed, signals }, life));
  const memory = await buildMemoryManager(parts, facts, readTopology);
  const isCpuStatic = settings.cpuManager?.policy === 'static';
  // In kubelet's order: devices, CPUs, memory.
  const providers: readonly HintProvider[] = [
    devices,
    ...(cpu && isCpuStatic ? [cpu.provider] : []),
    ...(memory ? [memory] : []),
  ];
  const contributions: readonly RunOptionsOf[] = [
    devices.runOptions.bind(devices),
    ...(cpu ? [cpu.runOptions] : []),
    ...(memory ? [memory.runOptions.bind(memory)] : []),
    ...(dra ? [dra.runOptions] : []),
  ];
  const placement = new PodPlacement({ providers, policy, scope: topologyManager.scope, clock: parts.host.clock });
  const allocated = composeAllocated([
    {
      devices: (uid, container) => devices.devices(uid, container),
      allocatable: () => ({ devices: devices.allocatableDevices() }),
    },
    cpu ? { cpus: cpu.allocated.cpus, allocatable: () => ({ cpus: cpu.allocated.allocatableCpus }) } : {},
    memory ? { memory: memory.memory.bind(memory), allocatable: () => ({ memory: memory.allocatable() }) } : {},
    dra ? { claims: (pod, container) => dra.containers.claims(pod, container) } : {},
  ]);
  return {
    steps: [placement],
    runOptions: async (pod, container, signal) =>
      mergeRunOptions(await Promise.all(contributions.map((each) => each(pod, container, signal)))),
    allocated,
    hasExclusiveCpus: exclusiveCpus(allocated, settings.cpuManager?.disablesQuota ?? false),
    onPodsKnown(uids) {
      placement.removeStale(uids, life).catch((error: unknown) => {
        if (!life.aborted) log.error('cannot take back the resources of pods that are gone', { error });
      });
    },
    resourceHealth: (pod, container) => [
      ...((settings.resourceHealthStatus ?? true) ? devices.resourceHealth(pod.metadata.uid, container) : []),
      ...(dra?.containers.resourceHealth(pod, container) ?? []),
    ],
    deviceCounts: () => devices.counts(),
    devicesInUse: (uid) => devices.inUseFor(uid),
    cpuUsage: () => cpu?.usage(),
    parts: [...(cpu?.parts ?? []), ...deviceParts],
  };
}

async function buildTopologyPolicy(
  settings: TopologySettings,
  { log }: AgentParts,
  readTopology: () => Promise<MachineTopology>,
): Promise<TopologyPolicy> {
  if (settings.policy === 'none') return topologyPolicy(settings, { numaNodes: [] });
  const warning = nodeCountWarning(topologyOptions(settings.options));
  if (warning !== undefined) log.warn(warning);
  return topologyPolicy(settings, await readTopology());
}

function exclusiveCpus({ cpus }: AllocatedResources, isQuotaDisabled: boolean): HasExclusiveCpus {
  if (!isQuotaDisabled) return () => false;
  return ({ metadata: { uid }, spec }, container) => {
    const asked = container ? [container] : [...(spec.initContainers ?? []), ...spec.containers];
    return asked.some(({ name }) => cpus(uid, name).length > 0);
  };
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= read();
    return result;
  };
}
