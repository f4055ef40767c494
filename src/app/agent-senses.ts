import { PodEvents } from '../kubelet/events/pod-events.ts';
import { Timeline } from '../kubelet/events/timeline.ts';
import { ObservedPods } from '../kubelet/pleg/observed-pods.ts';
import { execInContainer } from '../kubelet/probes/exec-in-container.ts';
import { Probes } from '../kubelet/probes/probes.ts';
import { StatusStore } from '../kubelet/status/status-store.ts';
import { PodStatusPublisher, type PublisherDeps } from '../kubelet/sync/pod-status-publisher.ts';
import type { AgentParts } from './agent.ts';

/** The way back: everything through which the agent knows and tells how its pods are. */
export interface Senses {
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly statuses: StatusStore;
  readonly observed: ObservedPods;
  readonly probes: Probes;
  readonly publisher: PodStatusPublisher;
}

/** Who is told when something about a pod is another than before. */
export interface SenseListener {
  /** The runtime has it otherwise. */
  seen(uid: string): void;
  /** A probe found it otherwise. */
  probed(uid: string): void;
}

export function createSenses(
  { host, cri, log, settings }: AgentParts,
  shown: Pick<PublisherDeps, 'runtimeName' | 'features' | 'resources'>,
  life: AbortSignal,
  listener: SenseListener,
): Senses {
  const { clock, random, fs, network } = host;
  const { hostIPs } = settings;
  const timeline = new Timeline(clock);
  const events = new PodEvents(clock);
  const statuses = new StatusStore();
  const onChange = (uid: string): void => listener.seen(uid);
  const observed = new ObservedPods({ runtime: cri.runtime, fs, clock, onChange }, life);
  const probes = new Probes({
    clock,
    random,
    network,
    events,
    log,
    exec: execInContainer(cri.runtime),
    hostIP: hostIPs[0] ?? '127.0.0.1',
    changed: (uid) => listener.probed(uid),
  });
  const publisher = new PodStatusPublisher({ observed, probes, statuses, clock, hostIPs, ...shown });
  return { timeline, events, statuses, observed, probes, publisher };
}
