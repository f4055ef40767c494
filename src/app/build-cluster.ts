import type { Node, Pod } from '../api/generated/core-v1.ts';
import { podFullName } from '../api/pod-names.ts';
import { assertNever } from '../base/assert-never.ts';
import type { Part } from '../base/supervise.ts';
import { withApiTimeouts } from '../kubelet/api-client/api-timeouts.ts';
import { EventWriter } from '../kubelet/events/event-writer.ts';
import { nodeReference, podReference } from '../kubelet/events/object-references.ts';
import type { PodEvents } from '../kubelet/events/pod-events.ts';
import type { NodeEvents } from '../kubelet/node/node-event.ts';
import { ClusterClaims } from '../kubelet/objects/cluster-claims.ts';
import { ClusterObjects, type ClusterObjectsDeps } from '../kubelet/objects/cluster-objects.ts';
import { type ChangeDetection, FetchedObjects, objectTtlMs } from '../kubelet/objects/fetched-objects.ts';
import { ManifestObjects } from '../kubelet/objects/manifest-objects.ts';
import { NO_CLAIMS, type PodClaims } from '../kubelet/objects/pod-claims.ts';
import type { PodObjects } from '../kubelet/objects/pod-objects.ts';
import { RuntimeClasses, watchRuntimeClasses } from '../kubelet/objects/runtime-classes.ts';
import { Services } from '../kubelet/objects/services.ts';
import { createMirrorWriter } from '../kubelet/sources/mirror-writer.ts';
import type { SourceName } from '../kubelet/sources/pod-source.ts';
import type { SourceObjects } from '../kubelet/sources/source-objects.ts';
import type { StatusStore } from '../kubelet/status/status-store.ts';
import { createStatusWriter } from '../kubelet/status/status-writer.ts';
import type { SyncLoop } from '../kubelet/sync-loop.ts';
import { NO_TOKENS, type PodTokens } from '../kubelet/tokens/pod-tokens.ts';
import { ServiceAccountTokens } from '../kubelet/tokens/service-account-tokens.ts';
import { couldHaveRunningContainers } from '../kubelet/workers/pod-state-queries.ts';
import type { PodWorkers } from '../kubelet/workers/pod-workers.ts';
import type { AgentParts } from './agent.ts';
import type { PodSignals } from './pod-signals.ts';

/** kubelet's defaults. */
const EVENT_RATE = { qps: 50, burst: 100 };

/** Writes events of the node, and every event that is recorded of a pod from now on. Without an API server, nothing. */
export function buildEventWriter(
  { apiServer, eventApiServer, host, log, settings }: AgentParts,
  podEvents: PodEvents,
): NodeEvents & Pick<EventWriter, 'run'> {
  if (!apiServer) return { run: async () => undefined, record() {} };
  const { clock, random } = host;
  const { nodeName, eventRate = EVENT_RATE } = settings;
  const api = withApiTimeouts(eventApiServer ?? apiServer, { clock, random });
  const writer = new EventWriter({ api, nodeName, rate: eventRate, clock, random, log });
  podEvents.subscribe((pod, { fieldPath, ...event }) =>
    writer.record({ ...event, involvedObject: podReference(pod, fieldPath) }),
  );
  const involvedObject = nodeReference(nodeName);
  return {
    run: (signal) => writer.run(signal),
    record: (type, reason, message) => writer.record({ involvedObject, type, reason, message, atMs: clock.now() }),
  };
}

/** The objects that pods refer to: from the API server, or from the manifests of a standalone agent. */
export interface AgentObjects {
  readonly objects: PodObjects;
  readonly tokens: PodTokens;
  readonly claims: PodClaims;
  readonly runtimeClasses: RuntimeClasses;
  /** `undefined` without an API server. */
  readonly services: Services | undefined;
  /** Watch the objects until their signal aborts. */
  readonly parts: readonly Part[];
  /** Sets the objects that a source has beside its pods. Ignored with an API server. */
  setSourceObjects(source: SourceName, objects: SourceObjects): void;
}

export function buildObjects(
  { apiServer, host, log, settings }: AgentParts,
  { signals, node }: { readonly signals: PodSignals; readonly node: { current(): Node | undefined } },
  life: AbortSignal,
): AgentObjects {
  const { clock, random } = host;
  const runtimeClasses = new RuntimeClasses({ clock, onChange: (name) => signals.runtimeClassChanged.raise(name) });
  const onChange = (uid: string): void => signals.podObjectChanged.raise(uid);
  if (!apiServer) return manifestObjects(runtimeClasses, onChange);
  const api = withApiTimeouts(apiServer, { clock, random });
  const deps: ClusterObjectsDeps = { api, onChange, clock, random, log };
  const services = new Services(deps);
  return {
    objects: clusterObjects(settings.changeDetection ?? 'Watch', deps, node, life),
    tokens: new ServiceAccountTokens(deps, life),
    claims: new ClusterClaims(api),
    runtimeClasses,
    services,
    parts: [
      { name: 'service watch', run: (signal) => services.run(signal), isEndless: true },
      {
        name: 'runtime class watch',
        run: (signal) => watchRuntimeClasses(runtimeClasses, deps, signal),
        isEndless: true,
      },
    ],
    setSourceObjects() {},
  };
}

function manifestObjects(runtimeClasses: RuntimeClasses, onChange: (uid: string) => void): AgentObjects {
  const objects = new ManifestObjects({ onChange });
  runtimeClasses.set('node', []); // the manifests are the only source of classes
  return {
    objects,
    tokens: NO_TOKENS,
    claims: NO_CLAIMS,
    runtimeClasses,
    services: undefined,
    parts: [],
    setSourceObjects(source, all) {
      runtimeClasses.set(source, all.runtimeClasses);
      objects.set(source, all);
    },
  };
}

function clusterObjects(
  strategy: ChangeDetection,
  deps: ClusterObjectsDeps,
  node: { current(): Node | undefined },
  life: AbortSignal,
): PodObjects {
  const { api, clock } = deps;
  switch (strategy) {
    case 'Watch':
      return new ClusterObjects(deps, life);
    case 'Cache':
      return new FetchedObjects({ api, clock, ttlMs: () => objectTtlMs(node.current()) });
    case 'Get':
      return new FetchedObjects({ api, clock, ttlMs: () => 0 });
    default:
      return assertNever(strategy);
  }
}

/** Writes pod statuses and mirror pods to the API server. */
export interface PodWriters {
  /** Write until their signal aborts. */
  readonly parts: readonly Part[];
  /** The worker phase, the rejection or the API server's version of the pod changed. */
  onPodChanged(pod: Pod): void;
  onSourceReported(): void;
}

export interface PodWriterDeps {
  readonly statuses: StatusStore;
  readonly loop: SyncLoop;
  readonly workers: PodWorkers;
}

export function buildPodWriters(
  { apiServer, host, log, settings, sources }: AgentParts,
  { statuses, loop, workers }: PodWriterDeps,
): PodWriters {
  if (!apiServer) return { parts: [], onPodChanged() {}, onSourceReported() {} };
  const { clock, random } = host;
  const api = withApiTimeouts(apiServer, { clock, random });
  const statusWriter = createStatusWriter({
    statuses,
    api,
    clock,
    random,
    log,
    apiPodOf: (pod) => loop.index.apiPodOf(pod),
    hasRunningContainers: (uid) => !loop.rejected.has(uid) && workers.query(couldHaveRunningContainers, uid),
    podCanBeDeleted: (uid) => isFinished(uid, loop, workers),
  });
  const mirrorWriter = createMirrorWriter({
    api,
    nodeName: settings.nodeName,
    clock,
    random,
    log,
    view: () => ({
      index: loop.index,
      sources: sources.map(({ name }) => name),
      ending: terminatingNames(loop, workers),
    }),
  });
  return {
    parts: [
      { name: 'status writer', run: (signal) => statusWriter.run(signal), isEndless: true },
      { name: 'mirror pod writer', run: (signal) => mirrorWriter.run(signal), isEndless: true },
    ],
    onPodChanged(pod) {
      statusWriter.reconcile((loop.index.staticOf(pod) ?? pod).metadata.uid);
      mirrorWriter.requestSync();
    },
    onSourceReported: () => mirrorWriter.requestSync(),
  };
}

function isFinished(uid: string, loop: SyncLoop, workers: PodWorkers): boolean {
  const worker = workers.all.get(uid);
  return worker ? worker.state.phase === 'finished' : loop.rejected.has(uid);
}

/**
 * Full names of pods that left their source and still terminate: no mirror pod is created for them. A finished pod has
 * released its name, even if its sandboxes cannot be removed yet.
 */
function terminatingNames(loop: SyncLoop, workers: PodWorkers): ReadonlySet<string> {
  const { podByUid } = loop.index;
  const terminating = [...workers.all.values()].filter(
    ({ uid, state }) => !podByUid.has(uid) && state.phase !== 'finished',
  );
  return new Set(terminating.map(({ pod }) => podFullName(pod)));
}
