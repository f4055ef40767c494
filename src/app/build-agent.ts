import type { Part } from '../base/supervise.ts';
import { UnhandledErrors } from '../base/unhandled-errors.ts';
import { PodEvents } from '../kubelet/events/pod-events.ts';
import { StartSteps } from '../kubelet/events/start-steps.ts';
import { Timeline } from '../kubelet/events/timeline.ts';
import { AgentReports, type AgentReportsDeps } from '../kubelet/explain/agent-reports.ts';
import { ResourceRecords } from '../kubelet/resources/resource-records.ts';
import { StatusStore } from '../kubelet/status/status-store.ts';
import { removeOrphanVolumes } from '../kubelet/volumes/remove-orphan-volumes.ts';
import type { Agent, AgentParts, AgentReadings } from './agent.ts';
import { readAgentFacts } from './agent-facts.ts';
import { buildAgentNode } from './build-agent-node.ts';
import {
  type AgentObjects,
  buildEventWriter,
  buildObjects,
  buildPodWriters,
  type PodWriters,
} from './build-cluster.ts';
import { buildCsi } from './build-csi.ts';
import type { AgentDra } from './build-dra.ts';
import { buildEviction, type Eviction } from './build-eviction.ts';
import { buildHousekeeping, type Housekeeping } from './build-housekeeping.ts';
import { buildImagePulls, type ImagePulls } from './build-image-pulls.ts';
import { buildPodResources } from './build-pod-resources.ts';
import { type AgentPods, buildPods } from './build-pods.ts';
import { buildResourceManagers, type ResourceManagers } from './build-resource-managers.ts';
import { type AgentRuntime, buildRuntime } from './build-runtime.ts';
import { buildStats } from './build-stats.ts';
import { inModule } from './in-module.ts';
import { PodSignals } from './pod-signals.ts';
import { RunningAgent } from './running-agent.ts';

/**
 * Builds an agent from its parts, each builder on the results of those before it. Reads facts of the machine and the
 * runtime, and starts nothing: `RunningAgent` does.
 */
export async function buildAgent(parts: AgentParts, signal: AbortSignal): Promise<Agent> {
  const { host, log, settings, unhandled = new UnhandledErrors({ clock: host.clock, log }) } = parts;
  const life = new AbortController();
  const facts = await readAgentFacts(parts, signal);
  const records = await ResourceRecords.read({ fs: host.fs, log, settings });
  const signals = new PodSignals((error) => unhandled.report('pod signals', error));
  const timeline = new Timeline(host.clock);
  const startSteps = new StartSteps(host.clock);
  startSteps.follow(timeline);
  const events = new PodEvents(host.clock);
  const statuses = new StatusStore();

  const stores = { signals, timeline, events, statuses, records };

  const runtime = buildRuntime(parts, signals, life.signal);
  const { observed, health } = runtime;
  const nodeEvents = buildEventWriter(parts, events);
  const machine = await buildAgentNode(parts, { facts, runtime, signals, timeline, nodeEvents }, life.signal);
  const { node, devices, dra, pressure, shutdown } = machine;
  const cluster = buildObjects(inModule(parts, 'objects'), { signals, node, events }, life.signal);
  const imagePulls = await buildImagePulls(inModule(parts, 'images'), cluster.tokens, life.signal);
  const csi = buildCsi(parts, machine.plugins, signals);
  const managerDeps = { facts, runtime, signals, devices, dra };
  const resourceManagers = await buildResourceManagers(inModule(parts, 'resources'), managerDeps, life.signal);
  const podsDeps = { ...stores, unhandled, facts, runtime, node, cluster, imagePulls, csi, resourceManagers };
  const pods = buildPods(inModule(parts, 'pods'), { ...podsDeps, pressure, shutdown, dra }, life.signal);
  const { loop, workers, volumes, atShutdown } = pods;
  const stats = buildStats(parts, { facts, observed, workers, volumes, csi }, life.signal);
  const writers = buildPodWriters(inModule(parts, 'status'), { statuses, loop, workers, dra });
  const housekeeping = buildHousekeeping(
    inModule(parts, 'gc'),
    { unhandled, observed, workers, imagePulls, nodeEvents },
    life.signal,
  );
  const evictionDeps = { pressure, stats: stats.source, workers, observed, housekeeping, events, nodeEvents };
  const eviction = buildEviction(inModule(parts, 'eviction'), evictionDeps);
  const reports = buildReports({ loop, workers, observed, statuses, timeline, events, volumes });
  connectSignals(signals, { pods, cluster, imagePulls, writers, housekeeping, eviction, reports, dra });

  const background: readonly Part[] = [
    { name: 'pleg', run: (until) => runtime.run(until), isEndless: true },
    ...writers.parts,
    { name: 'event writer', run: (until) => nodeEvents.run(until) },
    ...machine.parts({ loop, workers, observed, atShutdown }),
    ...[cluster, resourceManagers, stats, eviction].flatMap((each) => each.parts),
    ...buildPodResources(parts, { allocated: resourceManagers.allocated, loop }),
    ...housekeepingParts(inModule(parts, 'gc'), housekeeping, pods),
  ];
  const own = {
    host,
    log,
    settings,
    unhandled,
    life,
    background,
    observed,
    health,
    devices,
    reports,
    startSteps,
    shutdown,
  };
  const { images } = housekeeping;
  const { podCertificates } = cluster;
  const readings = buildReadings({ observed, pods, resourceManagers, imagePulls, dra });
  return new RunningAgent({ ...pods, ...own, images, podCertificates, readings, stats: stats.source });
}

interface ReadingDeps {
  readonly observed: AgentRuntime['observed'];
  readonly pods: Pick<AgentPods, 'loop' | 'volumes'>;
  readonly resourceManagers: ResourceManagers;
  readonly imagePulls: ImagePulls;
  readonly dra: AgentDra | undefined;
}

function buildReadings({ observed, pods, resourceManagers, imagePulls, dra }: ReadingDeps): AgentReadings {
  return {
    observed: (uid) => observed.get(uid),
    mirrorPods: () => pods.loop.index.mirrorPods.length,
    cpuUsage: () => resourceManagers.cpuUsage(),
    pullRecords: () => imagePulls.recordCounts(),
    claimDrivers: () => dra?.claimDrivers(),
    volumes: () => pods.volumes.counts(),
  };
}

interface ReportDeps extends Omit<AgentReportsDeps, 'pending' | 'rejected'> {
  readonly loop: AgentPods['loop'];
  readonly volumes: AgentPods['volumes'];
}

function buildReports({ loop, volumes, ...deps }: ReportDeps): AgentReports {
  return new AgentReports({ ...deps, pending: (uid) => volumes.pending(uid), rejected: () => loop.rejected });
}

function housekeepingParts(
  { host: { clock, random }, log }: AgentParts,
  { containers, images, logs }: Housekeeping,
  { volumes }: AgentPods,
): readonly Part[] {
  return [
    { name: 'orphan volumes', run: (until) => removeOrphanVolumes({ volumes, clock, random, log }, until) },
    { name: 'container garbage collection', run: () => containers.run(), isEndless: true },
    { name: 'image garbage collection', run: (until) => images.run(until) },
    { name: 'log rotation', run: (until) => logs.run(until) },
  ];
}

interface SignalListeners {
  readonly pods: AgentPods;
  readonly cluster: AgentObjects;
  readonly imagePulls: ImagePulls;
  readonly writers: PodWriters;
  readonly housekeeping: Housekeeping;
  readonly eviction: Eviction;
  readonly reports: AgentReports;
  readonly dra: AgentDra | undefined;
}

/** Which part wakes which. Listeners of one signal are called in the order of these lines. */
function connectSignals(signals: PodSignals, listeners: SignalListeners): void {
  const { pods, cluster, imagePulls, writers, housekeeping, eviction, reports, dra } = listeners;
  signals.podObserved.subscribe((uid) => housekeeping.containers.onPodObserved(uid));
  signals.podObserved.subscribe((uid) => housekeeping.logs.onPodObserved(uid));
  signals.podObserved.subscribe((uid) => pods.onPodChanged(uid));
  signals.podProbed.subscribe((uid) => pods.onPodChanged(uid));
  signals.podResourceHealth.subscribe((uid) => pods.onPodChanged(uid));
  signals.podObjectChanged.subscribe((uid) => pods.workers.wake(uid));
  signals.runtimeClassChanged.subscribe((name) => pods.onRuntimeClassChanged(name));
  signals.podChanged.subscribe((pod) => writers.onPodChanged(pod));
  signals.podChanged.subscribe(() => eviction.onPodChanged());
  signals.podGone.subscribe((pod) => imagePulls.onPodGone(pod.metadata.uid));
  signals.podGone.subscribe((pod) => reports.podGone(pod));
  signals.podGone.subscribe((pod) => writers.onPodChanged(pod));
  signals.sourceObjects.subscribe((source, objects) => cluster.setSourceObjects(source, objects));
  signals.sourceErrors.subscribe((source, errors) => reports.setSourceErrors(source, errors));
  signals.sourceReported.subscribe(() => writers.onSourceReported());
  signals.sourceReported.subscribe(() => dra?.onSourceReported());
}
