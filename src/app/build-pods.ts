import type { Pod } from '../api/generated/core-v1.ts';
import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import { NodeAdmission, rejectPod } from '../kubelet/admission/node-admission.ts';
import { nodeAwareSource } from '../kubelet/admission/node-aware-source.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import type { Timeline } from '../kubelet/events/timeline.ts';
import type { NodePressure } from '../kubelet/eviction/node-pressure.ts';
import { PodHandlerFeatures } from '../kubelet/pod-handler-features.ts';
import { findPodsOnNode } from '../kubelet/pods-on-node.ts';
import { execInContainer } from '../kubelet/probes/exec-in-container.ts';
import { Probes } from '../kubelet/probes/probes.ts';
import { PodResizes } from '../kubelet/resources/pod-resizes.ts';
import type { ResourceRecords } from '../kubelet/resources/resource-records.ts';
import type { StatusStore } from '../kubelet/status/status-store.ts';
import type { ObservingPodSyncer } from '../kubelet/sync/create-pod-syncer.ts';
import { PodStatusPublisher } from '../kubelet/sync/pod-status-publisher.ts';
import { SyncLoop } from '../kubelet/sync-loop.ts';
import { UserNamespaces } from '../kubelet/userns/user-namespaces.ts';
import type { CsiDeps } from '../kubelet/volumes/csi/csi-deps.ts';
import { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';
import type { AgentObjects } from './build-cluster.ts';
import type { ImagePulls } from './build-image-pulls.ts';
import type { ClusterNode } from './build-node.ts';
import { buildPodSteps, type PodSteps } from './build-pod-steps.ts';
import { buildPodSyncer } from './build-pod-syncer.ts';
import type { ResourceManagers } from './build-resource-managers.ts';
import type { AgentRuntime } from './build-runtime.ts';
import type { PodSignals } from './pod-signals.ts';

/** What the other builders supply to the pods. */
export interface PodsBuildDeps {
  readonly unhandled: UnhandledErrors;
  readonly facts: AgentFacts;
  readonly signals: PodSignals;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly statuses: StatusStore;
  readonly records: ResourceRecords;
  readonly runtime: AgentRuntime;
  readonly node: ClusterNode;
  readonly cluster: AgentObjects;
  readonly imagePulls: ImagePulls;
  readonly csi: CsiDeps;
  readonly resourceManagers: ResourceManagers;
  /** Absent: the node watches no pressure. */
  readonly pressure: NodePressure | undefined;
}

/** The pods of the agent, from their sources to their containers. */
export interface AgentPods {
  readonly loop: SyncLoop;
  readonly workers: PodWorkers;
  readonly probes: Probes;
  readonly cgroups: PodSteps['cgroups'];
  readonly volumes: PodSteps['volumes'];
  /** The runtime or a probe changed: publishes the new state at once and wakes the worker. */
  onPodChanged(uid: string): void;
  onRuntimeClassChanged(name: string): void;
}

/** What decides about pods and reports them: admission, resizes, probes and statuses. */
interface PodState {
  readonly admission: NodeAdmission;
  readonly resizes: PodResizes;
  readonly handlerFeatures: PodHandlerFeatures;
  readonly probes: Probes;
  readonly publisher: PodStatusPublisher;
}

export function buildPods(parts: AgentParts, deps: PodsBuildDeps, life: AbortSignal): AgentPods {
  const { host, log, settings } = parts;
  const { unhandled, facts, signals, timeline, events, records, runtime, node, cluster, imagePulls } = deps;
  const { admission, resizes, handlerFeatures, probes, publisher } = buildPodState(parts, deps);
  const userNamespaces = new UserNamespaces(
    { fs: host.fs, processes: host.processes, features: facts.runtimeFeatures, settings },
    life,
  );
  const steps = buildPodSteps(parts, { ...deps, userNamespaces });
  const syncer = buildPodSyncer(parts, {
    facts,
    timeline,
    events,
    records,
    runtime,
    cluster,
    imagePulls,
    resizes,
    handlerFeatures,
    probes,
    publisher,
    userNamespaces,
    steps,
    resourceManagers: deps.resourceManagers,
  });
  const common = { clock: host.clock, log, unhandled };
  const workers: PodWorkers = new PodWorkers(
    {
      ...common,
      random: host.random,
      syncer,
      syncFrequencyMs: settings.syncFrequencyMs,
      onPhase: ({ pod }) => signals.podChanged.raise(pod),
      onGone: (pod) => signals.podGone.raise(pod),
      admission: () => loop, // the only late binding: the loop passes pods to the workers, and they return some
    },
    life,
  );
  const loop: SyncLoop = new SyncLoop({
    sources: parts.sources.map((each) => (each.name === 'api' ? nodeAwareSource(each, settings.nodeName, node) : each)),
    workers,
    observed: runtime.observed,
    ...common,
    admit: (pod, otherPods) => admission.admit(pod, otherPods),
    reject: (pod, rejection) => rejectPod(pod, rejection, { events, publisher }),
    resizes,
    forgetRejected: (pod) => {
      publisher.forget(pod.metadata.uid);
      signals.podChanged.raise(pod);
    },
    podsOnNode: () =>
      findPodsOnNode({ observed: runtime.observed, directories: steps.directories, cgroups: steps.cgroups }),
    onObjects: ({ name }, objects) => signals.sourceObjects.raise(name, objects),
    onSourceErrors: ({ name }, errors) => signals.sourceErrors.raise(name, errors),
    onChanges: (changes) => {
      signals.sourceReported.raise();
      for (const { pod } of changes) signals.podChanged.raise(pod);
    },
  });
  return {
    loop,
    workers,
    probes,
    cgroups: steps.cgroups,
    volumes: steps.volumes,
    onPodChanged: (uid) => publishAndWake(uid, workers, syncer, publisher),
    onRuntimeClassChanged(name) {
      for (const worker of workers.all.values()) if (worker.pod.spec.runtimeClassName === name) worker.wake();
    },
  };
}

function buildPodState({ host, cri, log, settings }: AgentParts, deps: PodsBuildDeps): PodState {
  const { facts, signals, events, statuses, records, runtime, node, cluster } = deps;
  const { clock, random, network } = host;
  const { hostIPs } = settings;
  const admission = new NodeAdmission(
    facts.node,
    () => node.current(),
    // A new agent keeps the pods that run already.
    ({ metadata }) => (runtime.observed.get(metadata.uid) ? undefined : deps.pressure?.conditions),
  );
  const admit = (pod: Pod, others: readonly Pod[]) => admission.admit(pod, others);
  const resizes = new PodResizes({ records, events, clock, settings, hostFacts: facts.hostFacts, admit });
  const handlerFeatures = new PodHandlerFeatures({
    handlers: cluster.runtimeClasses,
    features: facts.runtimeFeatures,
    stopSignals: settings.containerStopSignals ?? false,
  });
  const probes = new Probes({
    clock,
    random,
    network,
    events,
    log,
    exec: execInContainer(cri.runtime),
    hostIP: hostIPs[0] ?? '127.0.0.1',
    onResultChanged: (uid) => signals.podProbed.raise(uid),
  });
  const publisher = new PodStatusPublisher({
    observed: runtime.observed,
    probes,
    statuses,
    clock,
    hostIPs,
    runtimeName: facts.runtimeName,
    features: (pod) => handlerFeatures.statusFeatures(pod),
    resources: (uid) => ({ actuated: records.actuated(uid), conditions: resizes.conditions(uid) }),
  });
  return { admission, resizes, handlerFeatures, probes, publisher };
}

/** A worker is busy until all that it starts or stops has finished; the status shows each change at once. */
function publishAndWake(
  uid: string,
  workers: PodWorkers,
  syncer: ObservingPodSyncer,
  publisher: PodStatusPublisher,
): void {
  const worker = workers.all.get(uid);
  if (worker?.state.phase === 'terminating') publisher.publish(worker.pod, 'terminating', worker.state.failure);
  else syncer.onPodObserved(uid);
  worker?.wake();
}
