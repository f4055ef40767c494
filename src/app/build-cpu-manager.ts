import type { Part } from '../base/supervise.ts';
import { UpdateContainerResourcesRequest } from '../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../cri/services.ts';
import type { ContainerOwner } from '../kubelet/cpu-manager/cpu-checkpoint.ts';
import { CpuManager, type CpuUsage } from '../kubelet/cpu-manager/cpu-manager.ts';
import type { ContainerCpusets } from '../kubelet/cpu-manager/cpuset-updates.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import { runningContainers } from '../kubelet/pod/observed-pod.ts';
import type { AllocatedResources } from '../kubelet/pod-resources/allocated-resources.ts';
import type { HintProvider } from '../kubelet/topology/hint-provider.ts';
import type { MachineTopology } from '../kubelet/topology/machine-topology.ts';
import type { AgentParts } from './agent.ts';
import type { RunOptionsOf } from './build-resource-managers.ts';
import type { PodSignals } from './pod-signals.ts';

export interface AgentCpuManager {
  readonly provider: HintProvider;
  readonly runOptions: RunOptionsOf;
  readonly parts: readonly Part[];
  /** How many CPUs are shared and exclusive. */
  usage(): CpuUsage | undefined;
  /** What the pod resources API shows. */
  readonly allocated: Pick<AllocatedResources, 'cpus'> & { readonly allocatableCpus: readonly number[] };
}

export interface CpuManagerParts {
  readonly topology: MachineTopology;
  readonly observed: Pick<ObservedPods, 'all'>;
  readonly signals: Pick<PodSignals, 'podObserved'>;
}

/**
 * Builds the CPU manager; `undefined` without its settings. Rejects with kubelet's error if the settings or the file of a
 * previous process cannot be used: the agent does not start.
 */
export async function buildCpuManager(
  { host, cri, settings, log }: AgentParts,
  { topology, observed, signals }: CpuManagerParts,
  signal: AbortSignal,
): Promise<AgentCpuManager | undefined> {
  const { cpuManager, rootDir } = settings;
  if (cpuManager === undefined) return undefined;
  const { fs, clock } = host;
  const manager = await CpuManager.create({
    settings: cpuManager,
    topology,
    rootDir,
    fs,
    clock,
    log,
    containers: containerCpusets(cri.runtime, observed),
    listOwners: () => listOwners(cri.runtime, signal),
  });
  const isStatic = cpuManager.policy === 'static';
  if (isStatic) signals.podObserved.subscribe(() => manager.onPodObserved());
  return {
    provider: manager,
    runOptions: async (pod, container) => manager.runOptions(pod, container),
    usage: () => manager.usage,
    parts: isStatic ? [{ name: 'cpu manager', run: (until) => manager.run(until), isEndless: true }] : [],
    allocated: {
      cpus: (uid, container) => manager.cpus(uid, container),
      allocatableCpus: manager.allocatableCpus,
    },
  };
}

function containerCpusets(runtime: RuntimeService, observed: Pick<ObservedPods, 'all'>): ContainerCpusets {
  return {
    running: () =>
      [...observed.all.values()].flatMap((pod) =>
        runningContainers(pod).map(({ name, id }) => ({ uid: pod.uid, name, id })),
      ),
    async update(containerId, cpusetCpus, signal) {
      const request = UpdateContainerResourcesRequest.fromPartial({ containerId, linux: { cpusetCpus } });
      await runtime.updateContainerResources(request, signal);
    },
  };
}

async function listOwners(runtime: RuntimeService, signal: AbortSignal): Promise<ReadonlyMap<string, ContainerOwner>> {
  const { containers } = await runtime.listContainers({ filter: undefined }, signal);
  return new Map(
    containers.map(({ id, labels }) => {
      const uid = labels['io.kubernetes.pod.uid'] ?? '';
      return [id, { uid, container: labels['io.kubernetes.container.name'] ?? '' }] as const;
    }),
  );
}
