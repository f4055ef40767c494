import { ContainerCollector } from '../kubelet/gc/container-collector.ts';
import { ImageCollector } from '../kubelet/gc/image-collector.ts';
import type { TellOfNode } from '../kubelet/gc/node-event.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { AgentParts } from './agent.ts';

export interface GarbageParts {
  readonly observed: ObservedPods;
  readonly workers: () => PodWorkers;
  /** Images were removed, and these are left. */
  readonly collected: (imageIds: readonly string[], beganMs: number) => Promise<void>;
  readonly nodeEvents: NodeEvents;
}

/** What removes what nobody needs any more. */
export interface Garbage {
  /** The runtime has the pod otherwise than before. */
  podSeen(uid: string): void;
  run(signal: AbortSignal): Promise<void>;
  /** What the disk with the images lacks, for a user to read; `undefined` when it lacks nothing. */
  trouble(): string | undefined;
}

export function createGarbage(agent: AgentParts, parts: GarbageParts, life: AbortSignal): Garbage {
  const { host, cri, log, settings } = agent;
  const { clock, fs } = host;
  const tell: TellOfNode = (type, reason, message) => {
    log.warn('event of the node', { type, reason, message });
    parts.nodeEvents.record(type, reason, message);
  };
  const workerOf = (uid: string) => parts.workers().all.get(uid);
  const policy = settings.deadContainers;
  const { observed, collected } = parts;
  const { runtime } = cri;
  const containers = new ContainerCollector(
    { runtime, fs, clock, log, settings, observed, policy, workerOf, tell },
    life,
  );
  const kept = settings.keptImages ?? [];
  const images = new ImageCollector({ cri, fs, clock, log, policy: settings.unusedImages, kept, tell, collected });
  return {
    podSeen: (uid) => containers.changed(uid),
    trouble: () => images.trouble,
    async run(signal) {
      await Promise.all([containers.run(), images.run(signal)]);
    },
  };
}
