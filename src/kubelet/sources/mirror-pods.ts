import type { Pod } from '../../api/generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_MIRROR, isStaticPod, podFullName } from '../../api/pod-names.ts';
import type { ApiErrorReason, ApiServer, ObjectKey } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { isMirrorOf, type PodIndex } from './pod-index.ts';
import type { SourceName } from './pod-source.ts';

/** All that the decision looks at. */
export interface MirrorView {
  readonly index: PodIndex;
  /** Those that pods can come from. */
  readonly sources: readonly SourceName[];
  /** Full names that pods which no source wants any more still bear: their mirrors show how they end. */
  readonly ending: ReadonlySet<string>;
}

/** What is to be done for the API server to show the static pods as they are. */
export interface MirrorPlan {
  /** Static pods without a mirror. */
  readonly create: readonly Pod[];
  /** Mirrors of another version of their pod, or that somebody deletes: one of the pod as it is takes their place. */
  readonly recreate: ReadonlyArray<{ readonly outdated: Pod; readonly pod: Pod }>;
  /** Mirrors of pods that are gone. */
  readonly delete: readonly Pod[];
}

const NOTHING: MirrorPlan = { create: [], recreate: [], delete: [] };

/** Nothing is planned before the API server's pods are known, and nothing is deleted before every source has spoken. */
export function planMirrorPods({ index, sources, ending }: MirrorView): MirrorPlan {
  if (!index.ready.has('api')) return NOTHING;
  const isFree = (pod: Pod): boolean => !ending.has(podFullName(pod));
  const statics = [...index.podByUid.values()].filter((pod) => isStaticPod(pod) && isFree(pod));
  return {
    create: statics.filter((pod) => !index.mirrorOf(pod)),
    recreate: statics.flatMap((pod) => {
      const mirror = index.mirrorOf(pod);
      return mirror && isOutdated(mirror, pod) ? [{ outdated: mirror, pod }] : [];
    }),
    delete: sources.every((source) => index.ready.has(source)) ? index.orphanedMirrorPods.filter(isFree) : [],
  };
}

function isOutdated(mirror: Pod, pod: Pod): boolean {
  return mirror.metadata.deletionTimestamp !== undefined || !isMirrorOf(mirror, pod);
}

export interface NodeIdentity {
  readonly name: string;
  readonly uid: string;
}

export interface MirrorDeps {
  readonly api: ApiServer;
  /** The node object that owns the mirrors. Without one none is made, and an outdated one is better than none. */
  readonly node: NodeIdentity | undefined;
}

/**
 * Carries the plan out, all of it at once. What is done already, or is no longer there to be done, is fine: the next
 * plan tells. Rejects with an `AggregateError` of what failed; who called tries again with a new plan.
 */
export async function syncMirrorPods(plan: MirrorPlan, deps: MirrorDeps, signal: AbortSignal): Promise<void> {
  const results = await Promise.allSettled([
    ...plan.create.map((pod) => createMirror(pod, deps, signal)),
    ...plan.recreate.map(async ({ outdated, pod }) => {
      if (!deps.node) return;
      await deleteMirror(outdated, deps, signal);
      await createMirror(pod, deps, signal);
    }),
    ...plan.delete.map((mirror) => deleteMirror(mirror, deps, signal)),
  ]);
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  signal.throwIfAborted();
  if (failures.length > 0) throw new AggregateError(failures, 'cannot write mirror pods');
}

async function createMirror(pod: Pod, { api, node }: MirrorDeps, signal: AbortSignal): Promise<void> {
  if (!node) return;
  await api.create(keyOf(pod), mirrorPodOf(pod, node), signal).catch(unless('AlreadyExists'));
}

async function deleteMirror(mirror: Pod, { api }: MirrorDeps, signal: AbortSignal): Promise<void> {
  const options = { uid: mirror.metadata.uid, graceSeconds: 0 };
  await api.delete(keyOf(mirror), options, signal).catch(unless('NotFound', 'Conflict'));
}

/** The mirror of a static pod, as kubelet makes it: owned by the node, and marked with the version it was made from. */
export function mirrorPodOf(pod: Pod, node: NodeIdentity): Pod {
  const { name, namespace, labels, annotations } = pod.metadata;
  const owner = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid: '', // the server gives it one of its own
      ...(labels && { labels }),
      annotations: { ...annotations, [CONFIG_MIRROR]: annotations?.[CONFIG_HASH] ?? '' },
      ownerReferences: [owner],
    },
    spec: pod.spec,
  };
}

function keyOf({ metadata: { namespace, name } }: Pod): ObjectKey<'pods'> {
  return { resource: 'pods', namespace, name };
}

/** Throws every error but those that are fine. */
function unless(...fine: readonly ApiErrorReason[]): (error: unknown) => void {
  return (error) => {
    if (!isApiError(error, ...fine)) throw error;
  };
}
