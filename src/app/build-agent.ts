import type { Pod } from '../api/generated/core-v1.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import { LogLinks } from '../kubelet/logs/log-links.ts';
import { objectsStep } from '../kubelet/objects/objects-step.ts';
import { RuntimeHealth } from '../kubelet/pleg/runtime-health.ts';
import { runPleg } from '../kubelet/pleg/run-pleg.ts';
import type { PodStep } from '../kubelet/pod/pod-step.ts';
import { kernelAtLeast } from '../kubelet/resources/host-facts.ts';
import { actualPod } from '../kubelet/resources/pod-allocation.ts';
import { PodCgroups } from '../kubelet/resources/pod-cgroups.ts';
import { ResourceRecords } from '../kubelet/resources/resource-records.ts';
import { CrashBackoff } from '../kubelet/sync/crash-backoff.ts';
import { type ObservingPodSyncer, createPodSyncer } from '../kubelet/sync/create-pod-syncer.ts';
import type { PodStatusPublisher } from '../kubelet/sync/pod-status-publisher.ts';
import type { StartDeps } from '../kubelet/sync/start-container.ts';
import { SyncLoop } from '../kubelet/sync-loop.ts';
import type { SourceOrigins } from '../kubelet/volumes/content-sources.ts';
import { PodDirectories } from '../kubelet/volumes/pod-directories.ts';
import { PodVolumes } from '../kubelet/volumes/pod-volumes.ts';
import type { PodWorker } from '../kubelet/workers/pod-worker.ts';
import { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import { createDecisions, createResourceReports } from './admission-and-resizes.ts';
import type { Agent, AgentParts } from './agent.ts';
import { type AgentFacts, readAgentFacts } from './agent-facts.ts';
import { AgentReports } from '../kubelet/explain/agent-reports.ts';
import { createSenses } from './agent-senses.ts';
import { createAllocatable } from './allocatable.ts';
import { buildNode } from './build-node.ts';
import { createClusterWriters } from './build-cluster.ts';
import { createContainerInputs } from '../kubelet/container-inputs.ts';
import { createGarbage } from '../kubelet/gc/garbage-collector.ts';
import { hookInputs } from './hook-inputs.ts';
import { createImagePulls } from './image-pulls.ts';
import { findPodsOnNode } from '../kubelet/pods-on-node.ts';
import { createLogRotation } from './log-rotation.ts';
import { nodeAwareSource } from '../kubelet/admission/node-aware-source.ts';
import { createAgentObjects } from './pod-objects.ts';
import { RunningAgent } from './running-agent.ts';
import { createSandboxInputs } from './sandbox-inputs.ts';

/** The only function that knows every part. It asks the runtime for its name and starts nothing. */
export async function buildAgent(parts: AgentParts, signal: AbortSignal): Promise<Agent> {
  const { host, cri, log, settings } = parts;
  const life = new AbortController();
  const facts = await readAgentFacts(parts, signal);
  const records = await ResourceRecords.read({ ...host, log, settings });
  const sandboxes = createSandboxInputs(parts, facts, () => workers, life.signal);
  const shown = { ...facts, features: sandboxes.statusFeatures, ...createResourceReports(records, () => decisions) };
  const senses = createSenses(parts, shown, life.signal, {
    seen: (uid) => {
      for (const each of [garbage, rotation]) each.onPodObserved(uid);
      lookUp(uid, workers, syncer, senses.publisher);
    },
    probed: (uid) => lookUp(uid, workers, syncer, senses.publisher),
  });
  const { observed, publisher } = senses;
  const listener = { changed: (uid: string): void => workers.wake(uid), node: () => node.current() };
  const decisions = createDecisions(parts, facts, records, { ...senses, registered: listener.node });
  const { objects, tokens, services, ...beside } = createAgentObjects(parts, listener, life.signal);
  const around = aroundContainers(parts, facts, records, { objects, tokens, events: senses.events });
  const pulls = await createImagePulls(parts, tokens, life.signal);
  const inputs = { ...host, ...senses, ...facts, ...sandboxes, ...decisions, records, log, settings };
  const syncer = createPodSyncer({
    ...inputs,
    ...around,
    runtime: cri.runtime,
    backoff: new CrashBackoff(settings.maxContainerRestartPeriodMs),
    steps: [sandboxes.userNamespaces, ...around.steps],
    hooks: hookInputs(parts, senses),
    ...createContainerInputs({ ...inputs, ...pulls, objects, services, volumes: around.volumes }),
  });
  const cluster = createClusterWriters(parts, { ...senses, loop: () => loop, workers: () => workers });
  const health = new RuntimeHealth(host.clock);
  const node = buildNode(parts, facts, { health, events: cluster.nodeEvents });
  const onPhase = ({ pod }: PodWorker): void => cluster.podChanged(pod);
  const onGone = (pod: Pod): void => {
    pulls.backoff.forget(pod.metadata.uid);
    reports.podGone(pod);
    cluster.podChanged(pod);
  };
  const news = { onPhase, onGone, admission: () => loop };
  const workers = new PodWorkers({ ...settings, ...host, syncer, log, ...news }, life.signal);
  const loop = new SyncLoop({
    ...inputs,
    sources: parts.sources.map((each) => (each.name === 'api' ? nodeAwareSource(each, settings.nodeName, node) : each)),
    workers,
    forget: (pod) => {
      publisher.forget(pod.metadata.uid);
      cluster.podChanged(pod);
    },
    podsOnNode: () => findPodsOnNode({ observed, ...around }),
    onObjects: ({ name }, all) => {
      for (const each of [sandboxes, beside]) each.told(name, all);
    },
    onSourceErrors: ({ name }, problems) => reports.setSourceErrors(name, problems),
    onChanges: (changes) => {
      cluster.sourceSpoke();
      for (const { pod } of changes) cluster.podChanged(pod);
    },
  });
  const rotation = createLogRotation(parts, observed);
  const garbage = createGarbage(parts, { ...cluster, ...pulls, observed, workers: () => workers }, life.signal);
  const reports = new AgentReports({ ...senses, workers, refused: () => loop.rejected });
  const watching = { observed, health, events: parts.runtimeEvents, ...host, log };
  const allocatable = createAllocatable(parts, facts, cluster.nodeEvents);
  const running = [allocatable, cluster, node, beside, sandboxes, garbage, rotation];
  const watch = (until: AbortSignal): Promise<unknown> =>
    Promise.all([runPleg(watching, until), ...running.map((each) => each.run(until))]);
  return new RunningAgent({ ...parts, ...senses, ...around, life, loop, workers, reports, watch, health, garbage });
}

/** A worker looks up only when all that it starts or stops has done so; what is seen of each is shown at once. */
function lookUp(
  uid: string,
  workers: PodWorkers,
  syncer: Pick<ObservingPodSyncer, 'seen'>,
  publisher: PodStatusPublisher,
): void {
  const worker = workers.all.get(uid);
  if (worker?.state.phase === 'terminating') publisher.publish(worker.pod, 'terminating', worker.state.failure);
  else syncer.onPodObserved(uid);
  worker?.wake();
}

/** What pods have around their containers, in the order in which a starting pod goes through it. */
function aroundContainers(
  { host, settings, log }: AgentParts,
  { hostFacts, allocatable }: AgentFacts,
  records: ResourceRecords,
  { objects, tokens, events }: SourceOrigins & { readonly events: PodEvents },
) {
  const directories = new PodDirectories({ fs: host.fs, settings });
  const actuated = (pod: Pod): Pod => actualPod(pod, records.actuated(pod.metadata.uid));
  const cgroups = new PodCgroups({ ...host, settings, hostFacts, actuated });
  const tmpfsNoswap = kernelAtLeast(hostFacts.kernel, 6, 4);
  const volumes = new PodVolumes({ ...host, settings, objects, tokens, events, allocatable, tmpfsNoswap });
  const links = new LogLinks({ fs: host.fs, settings });
  const linking = settings.containerLogsDir === undefined ? [] : [links];
  const steps: readonly PodStep[] = [objectsStep(objects), directories, ...linking, cgroups, records, volumes];
  const started: StartDeps['started'] = (...container) =>
    links.add(...container).catch((error: unknown) => log.warn('cannot link the log of a container', { error }));
  return { directories, cgroups, volumes, steps, started };
}
