import type { Pod } from '../api/generated/core-v1.ts';
import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import { NodeAdmission, rejectPod } from '../kubelet/admission/node-admission.ts';
import { nodeAwareSource } from '../kubelet/admission/node-aware-source.ts';
import { PreemptingAdmission, type PreemptingAdmissionDeps } from '../kubelet/admission/preempting-admission.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import type { Timeline } from '../kubelet/events/timeline.ts';
import type { NodePressure } from '../kubelet/eviction/node-pressure.ts';
import type { PodFailure } from '../kubelet/pod/pod-failure.ts';
import { PodHandlerFeatures } from '../kubelet/pod-handler-features.ts';
import { findPodsOnNode } from '../kubelet/pods-on-node.ts';
import { execInContainer } from '../kubelet/probes/exec-in-container.ts';
import { Probes } from '../kubelet/probes/probes.ts';
import { PodResizes } from '../kubelet/resources/pod-resizes.ts';
import type { ResourceRecords } from '../kubelet/resources/resource-records.ts';
import type { NodeShutdown, ShutdownPods } from '../kubelet/shutdown/node-shutdown.ts';
import { recordDuplicates } from '../kubelet/sources/record-duplicates.ts';
import type { StatusStore } from '../kubelet/status/status-store.ts';
import type { ObservingPodSyncer } from '../kubelet/sync/create-pod-syncer.ts';
import { PodStatusPublisher } from '../kubelet/sync/pod-status-publisher.ts';
import { SyncLoop } from '../kubelet/sync-loop.ts';
import { UserNamespaces } from '../kubelet/userns/user-namespaces.ts';
import type { CsiDeps } from '../kubelet/volumes/csi/csi-deps.ts';
import { killPod, type PodEnding } from '../kubelet/workers/kill-pod.ts';
import { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import { traceAdmission, traceSyncer } from '../kubelet/workers/trace-pod.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';
import type { AgentObjects } from './build-cluster.ts';
import type { AgentDra } from './build-dra.ts';
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
  readonly shutdown: Pick<NodeShutdown, 'isShuttingDown'>;
  /** Absent: pods have no resource claims. */
  readonly dra?: Pick<AgentDra, 'step' | 'containers'> | undefined;
}

/** The pods of the agent, from their sources to their containers. */
export interface AgentPods {
  readonly loop: SyncLoop;
  readonly workers: PodWorkers;
  readonly probes: Probes;
  readonly cgroups: PodSteps['cgroups'];
  readonly volumes: PodSteps['volumes'];
  readonly atShutdown: ShutdownPods;
  preemptions(): ReadonlyMap<string, number>;
  /** The runtime or a probe changed: publishes the new state at once and wakes the worker. */
  onPodChanged(uid: string): void;
  onRuntimeClassChanged(name: string): void;
}

/** What decides about pods and reports them: admission, resizes, probes and statuses. */
interface PodState {
  readonly admission: PreemptingAdmission;
  readonly resizes: PodResizes;
  readonly handlerFeatures: PodHandlerFeatures;
  readonly probes: Probes;
  readonly publisher: PodStatusPublisher;
}

interface RejectedPods {
  readonly isRejected: (uid: string) => boolean;
}

export function buildPods(parts: AgentParts, deps: PodsBuildDeps, life: AbortSignal): AgentPods {
  const { host, log, settings } = parts;
  const { unhandled, facts, signals, events, runtime, node } = deps;
  const kill = (pod: Pod, ending: PodEnding) => killPod(pod, ending, { workers, events, clock: host.clock });
  const preemption = {
    kill: (pod: Pod, failure: PodFailure) => kill(pod, { failure }),
    onVictimsEnded: () => loop.retryResizes(),
    isRejected: (uid: string) => loop.rejected.has(uid),
  };
  const state = buildPodState(parts, deps, preemption);
  const { admission, resizes, probes, publisher } = state;
  const userNamespaces = new UserNamespaces(
    { fs: host.fs, processes: host.processes, features: facts.runtimeFeatures, settings },
    life,
  );
  const steps = buildPodSteps(parts, { ...deps, userNamespaces, preemption: admission.step });
  const syncer = buildPodSyncer(parts, { ...deps, ...state, userNamespaces, steps });
  const common = { clock: host.clock, log, unhandled };
  const workers: PodWorkers = new PodWorkers(
    {
      ...common,
      random: host.random,
      syncer: traceSyncer(syncer),
      syncFrequencyMs: settings.syncFrequencyMs,
      onPhase: ({ pod }) => signals.podChanged.raise(pod),
      onGone: (pod) => signals.podGone.raise(pod),
      admission: () => loop, // a late binding: the loop passes pods to the workers, and they return some
    },
    life,
  );
  const loop: SyncLoop = new SyncLoop({
    sources: parts.sources.map((each) => (each.name === 'api' ? nodeAwareSource(each, settings.nodeName, node) : each)),
    workers,
    observed: runtime.observed,
    ...common,
    admit: (pod, otherPods) => traceAdmission(() => admission.admit(pod, otherPods)),
    isAdmissible: (pod, otherPods) => admission.isAdmissible(pod, otherPods),
    reject: (pod, rejection) => rejectPod(pod, rejection, { events, publisher }),
    resizes,
    forgetRejected: (pod) => {
      publisher.forget(pod.metadata.uid);
      signals.podChanged.raise(pod);
    },
    podsOnNode: () => findPodsOnNode({ ...steps, observed: runtime.observed }),
    onObjects: ({ name }, objects) => signals.sourceObjects.raise(name, objects),
    onSourceErrors: ({ name }, errors) => {
      recordDuplicates(name, errors, deps.events);
      signals.sourceErrors.raise(name, errors);
    },
    onPodsKnown: (uids) => deps.resourceManagers.onPodsKnown(uids),
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
    preemptions: () => admission.counts,
    atShutdown: {
      active: () => loop.activePods(),
      kill,
      released: async ({ metadata: { uid } }) => workers.all.get(uid)?.released,
    },
    onPodChanged: (uid) => publishAndWake(uid, workers, syncer, publisher),
    onRuntimeClassChanged(name) {
      for (const worker of workers.all.values()) if (worker.pod.spec.runtimeClassName === name) worker.wake();
    },
  };
}

function buildPodState(
  { host, cri, log, settings }: AgentParts,
  deps: PodsBuildDeps,
  { isRejected, ...preemption }: Pick<PreemptingAdmissionDeps, 'kill' | 'onVictimsEnded'> & RejectedPods,
): PodState {
  const { facts, signals, timeline, events, statuses, records, runtime, node, cluster, resourceManagers } = deps;
  const { clock, random, network } = host;
  const { hostIPs } = settings;
  const nodeAdmission = new NodeAdmission(
    facts.node,
    () => node.current(),
    ({ metadata: { uid } }) => ({
      // A new agent keeps the pods that run already.
      pressure: runtime.observed.get(uid) ? undefined : deps.pressure?.conditions,
      isShuttingDown: deps.shutdown.isShuttingDown,
      devices: resourceManagers.deviceCounts(),
      devicesInUse: resourceManagers.devicesInUse(uid),
    }),
  );
  const decide = (pod: Pod, others: readonly Pod[]) => nodeAdmission.decide(pod, others);
  const admission = new PreemptingAdmission({ decide, events, timeline, log, ...preemption });
  const admit = (pod: Pod, others: readonly Pod[]) => admission.admitResize(pod, others);
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
    isRejected,
    clock,
    hostIPs,
    runtimeName: facts.runtimeName,
    features: (pod) => handlerFeatures.statusFeatures(pod),
    resourceHealth: (pod, container) => resourceManagers.resourceHealth(pod, container),
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
