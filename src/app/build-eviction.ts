import type { Part } from '../base/supervise.ts';
import { activePods } from '../kubelet/admission/active-pods.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import { EvictionManager } from '../kubelet/eviction/eviction-manager.ts';
import { NodePressure } from '../kubelet/eviction/node-pressure.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import { enforcedAmounts } from '../kubelet/node/status/node-resources.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import type { StatsSource } from '../kubelet/stats/stats-source.ts';
import { isEndedByNode, shouldBeFinished } from '../kubelet/workers/pod-state-queries.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { AgentParts } from './agent.ts';
import type { AgentFacts } from './agent-facts.ts';
import type { Housekeeping } from './build-housekeeping.ts';

/** The node's pressure; `undefined` for `nodelet run`, which watches none (decision 0021). */
export function buildPressure({ node, host, cri, log }: AgentParts, { machine }: AgentFacts): NodePressure | undefined {
  if (!node) return undefined;
  const { fs, cgroupStats, clock } = host;
  const { memoryBytes } = machine;
  const podsMemoryBytes = Number(enforcedAmounts(machine, node).get('memory')?.value() ?? 0n);
  const settings = { ...node, memoryBytes, podsMemoryBytes };
  return new NodePressure(settings, { fs, cgroupStats, images: cri.images, clock, log });
}

export interface EvictionBuildDeps {
  readonly pressure: NodePressure | undefined;
  readonly stats: Pick<StatsSource, 'pods' | 'measuredPods'>;
  readonly workers: PodWorkers;
  readonly observed: ObservedPods;
  readonly housekeeping: Housekeeping;
  readonly events: PodEvents;
  readonly nodeEvents: NodeEvents;
}

export interface Eviction {
  readonly parts: readonly Part[];
  onPodChanged(): void;
}

export function buildEviction(agent: AgentParts, deps: EvictionBuildDeps): Eviction {
  const { node, host, log } = agent;
  const { pressure, stats, workers, observed, housekeeping, events, nodeEvents } = deps;
  if (!node || !pressure) return { parts: [], onPodChanged() {} };
  const { clock, pressureEvents } = host;
  const active = () => activePods(workers.all.values(), observed.all);
  const manager = new EvictionManager(
    {
      maxPodGraceSeconds: node.evictionMaxPodGraceSeconds,
      isolatesLocalStorage: node.hasEphemeralStorage,
      podsCgroup: node.podsCgroup,
    },
    {
      pressure,
      stats,
      pods: {
        active,
        kill: (uid, ending) => workers.killAndWait(uid, ending),
        isEnding: (uid) => workers.query(isEndedByNode, uid),
        isFinished: (uid) => workers.query(shouldBeFinished, uid),
      },
      reclaim: {
        deadContainers: () => housekeeping.containers.collectUnused(),
        unusedImages: (signal) => housekeeping.images.removeUnused(signal),
      },
      events,
      nodeEvents,
      pressureEvents,
      clock,
      log,
    },
  );
  return {
    parts: [{ name: 'eviction manager', run: (signal) => manager.run(signal) }],
    onPodChanged: () => manager.onPodChanged(),
  };
}
