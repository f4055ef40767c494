import type { UnhandledErrors } from '../base/unhandled-errors.ts';
import { ContainerCollector } from '../kubelet/gc/container-collector.ts';
import { ImageCollector } from '../kubelet/gc/image-collector.ts';
import type { RecordNodeEvent } from '../kubelet/gc/node-event.ts';
import { LogRotation } from '../kubelet/logs/log-rotation.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import type { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { AgentParts } from './agent.ts';
import type { ImagePulls } from './build-image-pulls.ts';

export interface HousekeepingDeps {
  readonly unhandled: UnhandledErrors;
  readonly observed: ObservedPods;
  readonly workers: PodWorkers;
  readonly imagePulls: ImagePulls;
  readonly nodeEvents: NodeEvents;
}

/** Garbage collection and log rotation. */
export interface Housekeeping {
  readonly containers: ContainerCollector;
  readonly images: ImageCollector;
  readonly logs: LogRotation;
}

export function buildHousekeeping(
  { host, cri, log, settings }: AgentParts,
  { unhandled, observed, workers, imagePulls, nodeEvents }: HousekeepingDeps,
  life: AbortSignal,
): Housekeeping {
  const { clock, fs } = host;
  const { runtime } = cri;
  const recordNodeEvent: RecordNodeEvent = (type, reason, message) => {
    log.warn('event of the node', { type, reason, message });
    nodeEvents.record(type, reason, message);
  };
  const containers = new ContainerCollector(
    {
      runtime,
      fs,
      clock,
      log,
      unhandled,
      settings,
      observed,
      policy: settings.deadContainers,
      workerOf: (uid) => workers.all.get(uid),
      recordNodeEvent,
    },
    life,
  );
  const images = new ImageCollector({
    cri,
    fs,
    clock,
    log,
    policy: settings.unusedImages,
    keptImages: settings.keptImages ?? [],
    recordNodeEvent,
    onCollected: imagePulls.onImagesCollected,
  });
  const logs = new LogRotation({ fs, clock, log, runtime, observed, policy: settings.containerLogs });
  return { containers, images, logs };
}
