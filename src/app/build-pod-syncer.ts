import { KeyedMutex } from '../base/keyed-mutex.ts';
import { createContainerInputs } from '../kubelet/container-inputs.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import type { Timeline } from '../kubelet/events/timeline.ts';
import { currentSandbox } from '../kubelet/pod/observed-pod.ts';
import type { PodHandlerFeatures } from '../kubelet/pod-handler-features.ts';
import { execInContainer } from '../kubelet/probes/exec-in-container.ts';
import type { Probes } from '../kubelet/probes/probes.ts';
import type { PodResizes } from '../kubelet/resources/pod-resizes.ts';
import type { ResourceRecords } from '../kubelet/resources/resource-records.ts';
import { CrashBackoff } from '../kubelet/sync/crash-backoff.ts';
import { createPodSyncer, type ObservingPodSyncer } from '../kubelet/sync/create-pod-syncer.ts';
import type { PodStatusPublisher } from '../kubelet/sync/pod-status-publisher.ts';
import type { UserNamespaces } from '../kubelet/userns/user-namespaces.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';
import type { AgentObjects } from './build-cluster.ts';
import type { ImagePulls } from './build-image-pulls.ts';
import type { PodSteps } from './build-pod-steps.ts';
import type { ResourceManagers } from './build-resource-managers.ts';
import type { AgentRuntime } from './build-runtime.ts';

export interface SyncerBuildDeps {
  readonly facts: AgentFacts;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly records: ResourceRecords;
  readonly runtime: AgentRuntime;
  readonly cluster: AgentObjects;
  readonly imagePulls: ImagePulls;
  readonly resizes: PodResizes;
  readonly handlerFeatures: PodHandlerFeatures;
  readonly probes: Probes;
  readonly publisher: PodStatusPublisher;
  readonly userNamespaces: UserNamespaces;
  readonly steps: PodSteps;
  readonly resourceManagers: ResourceManagers;
}

/** Builds the syncer, which executes the syncs of the pod workers. */
export function buildPodSyncer({ host, cri, log, settings }: AgentParts, deps: SyncerBuildDeps): ObservingPodSyncer {
  const { facts, timeline, events, records, runtime, cluster, imagePulls, steps } = deps;
  const { resizes, handlerFeatures, probes, publisher, userNamespaces } = deps;
  const { clock, random, fs, mounts, network } = host;
  const { observed } = runtime;
  const podIP = (uid: string): string | undefined => {
    const sandbox = currentSandbox(observed.get(uid));
    return sandbox?.hostNetwork ? settings.hostIPs[0] : sandbox?.ips[0];
  };
  const inputs = createContainerInputs({
    runtime: cri.runtime,
    runtimeHandlers: cluster.runtimeClasses,
    images: imagePulls.imageDeps,
    fs,
    mounts,
    random,
    log,
    settings,
    timeline,
    events,
    objects: cluster.objects,
    services: cluster.services,
    volumes: steps.volumes,
    hostFacts: facts.hostFacts,
    recursiveReadOnly: (pod, signal) => handlerFeatures.recursiveReadOnly(pod, signal),
  });
  return createPodSyncer({
    runtime: cri.runtime,
    observed,
    probes,
    publisher,
    timeline,
    events,
    clock,
    fs,
    settings,
    hostFacts: facts.hostFacts,
    allocatable: facts.allocatable,
    records,
    resizes,
    cgroups: steps.cgroups,
    runtimeHandlers: cluster.runtimeClasses,
    userNamespaces,
    backoff: new CrashBackoff(settings.maxContainerRestartPeriodMs),
    hooks: { clock, network, events, podIP, exec: execInContainer(cri.runtime) },
    steps: steps.inOrder,
    onContainerStarted: steps.onContainerStarted,
    ensureImage: inputs.ensureImage,
    ensureImageVolumes: inputs.ensureImageVolumes,
    imageVolumeCreations: new KeyedMutex(),
    envSources: inputs.envSources,
    mounts: inputs.mounts,
    devices: inputs.devices,
    runOptions: (...container) => deps.resourceManagers.runOptions(...container),
    hasExclusiveCpus: deps.resourceManagers.hasExclusiveCpus,
    volumeGroups: (pod) => steps.volumes.extraGroups(pod),
  });
}
