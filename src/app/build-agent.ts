import type { Part } from '../base/supervise.ts';
import { UnhandledErrors } from '../base/unhandled-errors.ts';
import { PodEvents } from '../kubelet/events/pod-events.ts';
import { Timeline } from '../kubelet/events/timeline.ts';
import { AgentReports, type AgentReportsDeps } from '../kubelet/explain/agent-reports.ts';
import { ResourceRecords } from '../kubelet/resources/resource-records.ts';
import { StatusStore } from '../kubelet/status/status-store.ts';
import { removeOrphanVolumes } from '../kubelet/volumes/remove-orphan-volumes.ts';
import type { Agent, AgentParts } from './agent.ts';
import { readAgentFacts } from './agent-facts.ts';
import {
  type AgentObjects,
  buildEventWriter,
  buildObjects,
  buildPodWriters,
  type PodWriters,
} from './build-cluster.ts';
import { buildCsi } from './build-csi.ts';
import { buildHousekeeping, type Housekeeping } from './build-housekeeping.ts';
import { buildImagePulls, type ImagePulls } from './build-image-pulls.ts';
import { buildAllocatableEnforcement, buildNode } from './build-node.ts';
import { buildNodeGuards } from './build-node-guards.ts';
import { buildCsiNode, buildPlugins } from './build-plugins.ts';
import { type AgentPods, buildPods } from './build-pods.ts';
import { buildResourceManagers } from './build-resource-managers.ts';
import { buildRuntime } from './build-runtime.ts';
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
  const events = new PodEvents(host.clock);
  const statuses = new StatusStore();

  const runtime = buildRuntime(parts, signals, life.signal);
  const { observed, health } = runtime;
  const eventWriter = buildEventWriter(parts, events);
  const csiNode = buildCsiNode(parts);
  const guards = buildNodeGuards(parts, eventWriter);
  const { shutdown } = guards;
  const node = buildNode(parts, facts, { health, events: eventWriter, storage: csiNode, shutdown });
  const plugins = buildPlugins(parts, { csiNode, node }, life.signal);
  const enforcement = buildAllocatableEnforcement(parts, facts, eventWriter);
  const cluster = buildObjects(parts, { signals, node, events }, life.signal);
  const imagePulls = await buildImagePulls(parts, cluster.tokens, life.signal);
  const csi = buildCsi(parts, plugins, signals);
  const resourceManagers = buildResourceManagers();
  const stores = { signals, timeline, events, statuses, records };
  const pods = buildPods(
    parts,
    { ...stores, unhandled, facts, runtime, node, cluster, imagePulls, csi, resourceManagers, shutdown },
    life.signal,
  );
  const { loop, workers, probes, cgroups } = pods;
  const writers = buildPodWriters(parts, { statuses, loop, workers });
  const nodeEvents = eventWriter;
  const housekeeping = buildHousekeeping(parts, { unhandled, observed, workers, imagePulls, nodeEvents }, life.signal);
  const reports = buildReports({ loop, workers, observed, statuses, timeline, events, volumes: pods.volumes });
  connectSignals(signals, { pods, cluster, imagePulls, writers, housekeeping, reports });

  const background = [
    { name: 'pleg', run: (until: AbortSignal) => runtime.run(until), isEndless: true },
    { name: 'allocatable enforcement', run: (until: AbortSignal) => enforcement.run(until) },
    ...writers.parts,
    { name: 'event writer', run: (until: AbortSignal) => eventWriter.run(until) },
    { name: 'node', run: (until: AbortSignal) => node.run(until) },
    ...[cluster, plugins, resourceManagers].flatMap((each) => each.parts),
    ...guards.parts(pods.atShutdown),
    ...housekeepingParts(parts, housekeeping, pods),
  ];
  return new RunningAgent({
    host,
    log,
    settings,
    unhandled,
    life,
    background,
    loop,
    workers,
    observed,
    probes,
    cgroups,
    health,
    images: housekeeping.images,
    reports,
    podCertificates: cluster.podCertificates,
    shutdown,
    atShutdown: pods.atShutdown,
    preemptions: pods.preemptions,
  });
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
  readonly reports: AgentReports;
}

/** Which part wakes which. Listeners of one signal are called in the order of these lines. */
function connectSignals(signals: PodSignals, listeners: SignalListeners): void {
  const { pods, cluster, imagePulls, writers, housekeeping, reports } = listeners;
  signals.podObserved.subscribe((uid) => housekeeping.containers.onPodObserved(uid));
  signals.podObserved.subscribe((uid) => housekeeping.logs.onPodObserved(uid));
  signals.podObserved.subscribe((uid) => pods.onPodChanged(uid));
  signals.podProbed.subscribe((uid) => pods.onPodChanged(uid));
  signals.podObjectChanged.subscribe((uid) => pods.workers.wake(uid));
  signals.runtimeClassChanged.subscribe((name) => pods.onRuntimeClassChanged(name));
  signals.podChanged.subscribe((pod) => writers.onPodChanged(pod));
  signals.podGone.subscribe((pod) => imagePulls.onPodGone(pod.metadata.uid));
  signals.podGone.subscribe((pod) => reports.podGone(pod));
  signals.podGone.subscribe((pod) => writers.onPodChanged(pod));
  signals.sourceObjects.subscribe((source, objects) => cluster.setSourceObjects(source, objects));
  signals.sourceErrors.subscribe((source, errors) => reports.setSourceErrors(source, errors));
  signals.sourceReported.subscribe(() => writers.onSourceReported());
}
