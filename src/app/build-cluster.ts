import type { Node, Pod } from '../api/generated/core-v1.ts';
import { podFullName } from '../api/pod-names.ts';
import { assertNever } from '../base/assert-never.ts';
import type { Part } from '../base/supervise.ts';
import { withApiTimeouts } from '../kubelet/api-client/api-timeouts.ts';
import { ClaimStore } from '../kubelet/claims/claim-store.ts';
import { ManifestClaims } from '../kubelet/claims/manifest-claims.ts';
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
import type { PodStep } from '../kubelet/pod/pod-step.ts';
import { IssuedCertificates } from '../kubelet/pod-certificates/issued-certificates.ts';
import { noPodCertificates, type PodCertificates } from '../kubelet/pod-certificates/pod-certificates.ts';
import { createMirrorWriter } from '../kubelet/sources/mirror-writer.ts';
import type { SourceName } from '../kubelet/sources/pod-source.ts';
import type { SourceObjects } from '../kubelet/sources/source-objects.ts';
import type { StatusStore } from '../kubelet/status/status-store.ts';
import { createStatusWriter } from '../kubelet/status/status-writer.ts';
import type { SyncLoop } from '../kubelet/sync-loop.ts';
import { NO_TOKENS, type PodTokens } from '../kubelet/tokens/pod-tokens.ts';
import { ServiceAccountTokens } from '../kubelet/tokens/service-account-tokens.ts';
import { ClusterTrustBundles } from '../kubelet/trust-bundles/cluster-trust-bundles.ts';
import { noTrustBundles, type TrustBundles } from '../kubelet/trust-bundles/trust-bundles.ts';
import { type AttachLimits, NO_ATTACH_LIMITS } from '../kubelet/volumes/attach-limits.ts';
import { CsiAttachLimits } from '../kubelet/volumes/csi/csi-attach-limits.ts';
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
  podEvents.subscribeToObjects((event) => writer.record(event));
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
  readonly trustBundles: TrustBundles;
  readonly podCertificates: PodCertificates;
  readonly claims: PodClaims;
  readonly attachLimits: AttachLimits;
  /** `undefined` with an API server, whose controllers manage the claims. */
  readonly claimsStep: PodStep | undefined;
  readonly runtimeClasses: RuntimeClasses;
  /** `undefined` without an API server. */
  readonly services: Services | undefined;
  /** Watch the objects until their signal aborts. */
  readonly parts: readonly Part[];
  /** Sets the objects that a source has beside its pods. Ignored with an API server. */
  setSourceObjects(source: SourceName, objects: SourceObjects): void;
}

export interface ObjectsBuildDeps {
  readonly signals: PodSignals;
  readonly node: { current(): Node | undefined };
  readonly events: PodEvents;
}

export function buildObjects(
  { apiServer, host, log, settings }: AgentParts,
  { signals, node, events }: ObjectsBuildDeps,
  life: AbortSignal,
): AgentObjects {
  const { clock, random, signingKeys: keys } = host;
  const runtimeClasses = new RuntimeClasses({ clock, onChange: (name) => signals.runtimeClassChanged.raise(name) });
  const onChange = (uid: string): void => signals.podObjectChanged.raise(uid);
  if (!apiServer) return manifestObjects({ host, log, settings }, runtimeClasses, onChange);
  const api = withApiTimeouts(apiServer, { clock, random });
  const deps: ClusterObjectsDeps = { api, onChange, clock, random, log };
  const services = new Services(deps);
  const { nodeName, clusterTrustBundleProjection, podCertificateRequest } = settings;
  const nodeUid = (): string | undefined => node.current()?.metadata.uid;
  const certificates = podCertificateRequest
    ? new IssuedCertificates({ ...deps, events, keys, nodeName, nodeUid }, life)
    : undefined;
  return {
    objects: clusterObjects(settings.changeDetection ?? 'Watch', deps, node, life),
    tokens: new ServiceAccountTokens(deps, life),
    trustBundles: clusterTrustBundleProjection ? new ClusterTrustBundles(deps, life) : noTrustBundles('gateOff'),
    podCertificates: certificates ?? noPodCertificates('gateOff'),
    claims: new ClusterClaims(api),
    attachLimits: new CsiAttachLimits({ api, nodeName: settings.nodeName, log }),
    claimsStep: undefined,
    runtimeClasses,
    services,
    parts: [
      { name: 'service watch', run: (signal) => services.run(signal), isEndless: true },
      {
        name: 'runtime class watch',
        run: (signal) => watchRuntimeClasses(runtimeClasses, deps, signal),
        isEndless: true,
      },
      ...(certificates ? [podCertificateWatch(certificates)] : []),
    ],
    setSourceObjects() {},
  };
}

function podCertificateWatch(certificates: IssuedCertificates): Part {
  return { name: 'pod certificate watch', run: (signal) => certificates.run(signal), isEndless: true };
}

function manifestObjects(
  parts: Pick<AgentParts, 'host' | 'log' | 'settings'>,
  runtimeClasses: RuntimeClasses,
  onChange: (uid: string) => void,
): AgentObjects {
  const objects = new ManifestObjects({ onChange });
  const claims = manifestClaims(parts, onChange);
  runtimeClasses.set('node', []); // the manifests are the only source of classes
  return {
    objects,
    tokens: NO_TOKENS,
    trustBundles: noTrustBundles('standalone'),
    podCertificates: noPodCertificates('standalone'),
    attachLimits: NO_ATTACH_LIMITS,
    claims: claims ?? NO_CLAIMS,
    claimsStep: claims,
    runtimeClasses,
    services: undefined,
    parts: [],
    setSourceObjects(source, all) {
      runtimeClasses.set(source, all.runtimeClasses);
      objects.set(source, all);
      claims?.set(source, all);
    },
  };
}

function manifestClaims(
  { host, log, settings }: Pick<AgentParts, 'host' | 'log' | 'settings'>,
  onChange: (uid: string) => void,
): ManifestClaims | undefined {
  const { fs, lockFiles, clock, random } = host;
  const { claimVolumesDir: folder, rootDir } = settings;
  if (folder === undefined) return undefined;
  const store = new ClaimStore({ fs, lockFiles, random, folder, rootDir });
  return new ManifestClaims({ store, fs, clock, random, log, onChange });
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
  /** Absent: pods have no resource claims. */
  readonly dra?: { mightNeedUnprepare(podUid: string): boolean } | undefined;
}

export function buildPodWriters(
  { apiServer, host, log, settings, sources }: AgentParts,
  { statuses, loop, workers, dra }: PodWriterDeps,
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
    // Other components deallocate a claim as soon as its pods have ended.
    hasRunningContainers: (uid) =>
      (!loop.rejected.has(uid) && workers.query(couldHaveRunningContainers, uid)) ||
      (dra?.mightNeedUnprepare(uid) ?? false),
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
