import type { Part } from '../base/supervise.ts';
import type { Timeline } from '../kubelet/events/timeline.ts';
import type { NodePressure } from '../kubelet/eviction/node-pressure.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import { runningContainers } from '../kubelet/pod/observed-pod.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';
import { type AgentDevices, buildDeviceManager } from './build-device-manager.ts';
import { type AgentDra, buildDra } from './build-dra.ts';
import { buildPressure } from './build-eviction.ts';
import { buildAllocatableEnforcement, buildNode, type ClusterNode } from './build-node.ts';
import { buildNodeGuards, type NodeGuards } from './build-node-guards.ts';
import { type AgentPlugins, buildCsiNode, buildPlugins } from './build-plugins.ts';
import type { AgentPods } from './build-pods.ts';
import type { AgentRuntime } from './build-runtime.ts';
import { inModule } from './in-module.ts';
import type { PodSignals } from './pod-signals.ts';

export interface AgentNodeDeps {
  readonly facts: AgentFacts;
  readonly runtime: AgentRuntime;
  readonly signals: PodSignals;
  readonly timeline: Timeline;
  readonly nodeEvents: NodeEvents;
}

/** The node as the cluster sees it, what plugs into it, and what protects it. */
export interface AgentNode {
  readonly node: ClusterNode;
  readonly plugins: AgentPlugins;
  readonly devices: AgentDevices;
  /** Absent: pods have no resource claims. */
  readonly dra: AgentDra | undefined;
  /** Absent: the node watches no pressure. */
  readonly pressure: NodePressure | undefined;
  readonly shutdown: NodeGuards['shutdown'];
  parts(pods: NodePods): readonly Part[];
}

/** The pods as the parts of the node see them. */
interface NodePods extends Pick<AgentPods, 'loop' | 'workers' | 'atShutdown'> {
  readonly observed: ObservedPods;
}

export async function buildAgentNode(
  parts: AgentParts,
  { facts, runtime: { observed, health }, signals, timeline, nodeEvents: events }: AgentNodeDeps,
  life: AbortSignal,
): Promise<AgentNode> {
  const csiNode = buildCsiNode(parts);
  const devices = await buildDeviceManager(inModule(parts, 'device-manager'), { observed, signals }, life);
  const pressure = buildPressure(inModule(parts, 'eviction'), facts);
  const guards = buildNodeGuards(inModule(parts, 'node'), events);
  const { shutdown } = guards;
  const nodeDeps = { health, events, storage: csiNode, devices: devices.manager, pressure, shutdown };
  const node = buildNode(inModule(parts, 'node'), facts, nodeDeps);
  const dra = await buildDra(inModule(parts, 'dra'), { signals, timeline, observed, node }, life);
  const plugins = buildPlugins(inModule(parts, 'plugins'), { csiNode, node, devices: devices.handler, dra }, life);
  const enforcement = buildAllocatableEnforcement(parts, facts, events);
  return {
    node,
    plugins,
    devices,
    dra,
    pressure,
    shutdown,
    parts: (pods) => [
      { name: 'allocatable enforcement', run: (until) => enforcement.run(until) },
      { name: 'node', run: (until) => node.run(until) },
      ...plugins.parts,
      ...guards.parts(pods.atShutdown),
      ...draParts(dra, pods),
    ],
  };
}

function draParts(dra: AgentDra | undefined, { loop, workers, observed }: NodePods): readonly Part[] {
  if (!dra) return [];
  return dra.parts({
    areSourcesReady: () => loop.areSourcesReady,
    isActive: async (uid, until) =>
      workers.all.has(uid) || runningContainers(await observed.refresh(uid, until)).length > 0,
  });
}
