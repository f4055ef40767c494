import type { Pod } from '../api/generated/core-v1.ts';
import { podFullName } from '../api/pod-names.ts';
import type { ApiServer } from '../kubelet/api-client/api-server.ts';
import { boundApiServer } from '../kubelet/api-client/bounded-api-server.ts';
import { nodeReference, podReference } from '../kubelet/events/event-objects.ts';
import { EventWriter } from '../kubelet/events/event-writer.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import { createMirrorWriter } from '../kubelet/sources/mirror-writer.ts';
import type { StatusStore } from '../kubelet/status/status-store.ts';
import { createStatusWriter } from '../kubelet/status/status-writer.ts';
import type { SyncLoop } from '../kubelet/sync-loop.ts';
import { couldHaveRunningContainers } from '../kubelet/workers/pod-questions.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { AgentParts } from './agent.ts';

/** What is written to the API server, told of everything that may make another word of ours necessary. */
export interface ClusterWriters {
  run(signal: AbortSignal): Promise<void>;
  /** Something about the pod's worker, its refusal or its status at the API server is another. */
  podChanged(pod: Pod): void;
  /** A source has spoken. */
  sourceSpoke(): void;
  /** What is told of the node goes to the API server too; before `run` it waits. */
  readonly nodeEvents: NodeEvents;
}

/** kubelet's defaults. */
const EVENT_RATE = { qps: 50, burst: 100 };

/** An agent without a cluster has nobody to write to. */
const NOBODY: ClusterWriters = {
  run: async () => undefined,
  podChanged() {},
  sourceSpoke() {},
  nodeEvents: { record() {} },
};

export interface ClusterWriterParts {
  readonly statuses: StatusStore;
  readonly events: PodEvents;
  /** Asked when they are there: writers come before workers. */
  readonly loop: () => SyncLoop;
  readonly workers: () => PodWorkers;
}

export function createClusterWriters(parts: AgentParts, own: ClusterWriterParts): ClusterWriters {
  return parts.apiServer ? writersTo(parts.apiServer, parts, own) : NOBODY;
}

function writersTo(apiServer: ApiServer, parts: AgentParts, own: ClusterWriterParts): ClusterWriters {
  const { host, log, settings, sources } = parts;
  const { clock, random } = host;
  const api = boundApiServer(apiServer, { clock, random });
  const statuses = createStatusWriter({
    statuses: own.statuses,
    api,
    clock,
    random,
    log,
    apiPodOf: (pod) => own.loop().index.apiPodOf(pod),
    mayRun: (uid) => !own.loop().refused.has(uid) && own.workers().ask(couldHaveRunningContainers, uid),
    podCanBeDeleted: (uid) => isFinished(uid, own),
  });
  const mirrors = createMirrorWriter({
    api,
    nodeName: settings.nodeName,
    clock,
    random,
    log,
    view: () => ({ index: own.loop().index, sources: sources.map(({ name }) => name), ending: endingNames(own) }),
  });
  const events = eventsTo(boundApiServer(parts.eventApiServer ?? apiServer, { clock, random }), parts, own.events);
  return {
    run: async (signal) => void (await Promise.all([statuses, mirrors, events].map((each) => each.run(signal)))),
    nodeEvents: events,
    podChanged: (pod) => {
      statuses.reconcile((own.loop().index.staticOf(pod) ?? pod).metadata.uid);
      mirrors.changed();
    },
    sourceSpoke: () => mirrors.changed(),
  };
}

/** Writes what pods are told from now on, and what is recorded of the node. */
function eventsTo(
  api: ApiServer,
  { host, log, settings: { nodeName, eventRate = EVENT_RATE } }: AgentParts,
  ofPods: PodEvents,
): NodeEvents & Pick<EventWriter, 'run'> {
  const { clock, random } = host;
  const writer = new EventWriter({ api, nodeName, rate: eventRate, clock, random, log });
  ofPods.subscribe((pod, { fieldPath, ...event }) =>
    writer.record({ ...event, involvedObject: podReference(pod, fieldPath) }),
  );
  const involvedObject = nodeReference(nodeName);
  return {
    run: (signal) => writer.run(signal),
    record: (type, reason, message) => writer.record({ involvedObject, type, reason, message, atMs: clock.now() }),
  };
}

function isFinished(uid: string, { loop, workers }: ClusterWriterParts): boolean {
  const worker = workers().all.get(uid);
  return worker ? worker.state.phase === 'finished' : loop().refused.has(uid);
}

/** Full names of pods that have left their source and are not gone yet: a mirror of them is not to be made. */
function endingNames({ loop, workers }: ClusterWriterParts): ReadonlySet<string> {
  const { podByUid } = loop().index;
  const ending = [...workers().all.values()].filter(({ uid }) => !podByUid.has(uid));
  return new Set(ending.map(({ pod }) => podFullName(pod)));
}
