import type { Pod } from '../../api/generated/core-v1.ts';
import { CONFIG_HASH, CONFIG_MIRROR, isStaticPod, podFullName } from '../../api/pod-names.ts';
import type { ApiErrorReason, ApiServer, ObjectKey } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { isMirrorOf, type PodIndex } from './pod-index.ts';
import type { SourceName } from './pod-source.ts';

/** Everything that the plan is computed from. */
export interface MirrorView {
  readonly index: PodIndex;
  /** All configured sources. */
  readonly sources: readonly SourceName[];
  /** Full names of terminating pods that no source wants: their mirrors stay until they are gone. */
  readonly ending: ReadonlySet<string>;
}

/** The changes that make the mirror pods match the static pods. */
export interface MirrorPlan {
  /** Static pods without a mirror. */
  readonly create: readonly Pod[];
  /** Mirrors of another version of their pod, or that are being deleted: they are replaced. */
  readonly recreate: ReadonlyArray<{ readonly outdated: Pod; readonly pod: Pod }>;
  /** Mirrors of pods that are gone. */
  readonly delete: readonly Pod[];
}

const NOTHING: MirrorPlan = { create: [], recreate: [], delete: [] };

/** Plans nothing before the API source is ready, and no deletions before every source is ready. */
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
  /** The node object that owns the mirrors. Without it no mirror is created, and outdated ones stay. */
  readonly node: NodeIdentity | undefined;
}

/**
 * Executes the plan concurrently. Mirrors that already exist, or are already gone, are no errors. Rejects with an
 * `AggregateError`; the caller retries with a new plan.
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
  await api.create(podKey(pod), mirrorPodOf(pod, node), signal).catch(ignoring('AlreadyExists'));
}

async function deleteMirror(mirror: Pod, { api }: MirrorDeps, signal: AbortSignal): Promise<void> {
  const options = { uid: mirror.metadata.uid, graceSeconds: 0 };
  await api.delete(podKey(mirror), options, signal).catch(ignoring('NotFound', 'Conflict'));
}

/** The mirror of a static pod as kubelet creates it: owned by the node, and annotated with the pod's hash. */
export function mirrorPodOf(pod: Pod, node: NodeIdentity): Pod {
  const { name, namespace, labels, annotations } = pod.metadata;
  const owner = { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid, controller: true };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      uid: '', // set by the API server
      ...(labels && { labels }),
      annotations: { ...annotations, [CONFIG_MIRROR]: annotations?.[CONFIG_HASH] ?? '' },
      ownerReferences: [owner],
    },
    spec: pod.spec,
  };
}

function podKey({ metadata: { namespace, name } }: Pod): ObjectKey<'pods'> {
  return { resource: 'pods', namespace, name };
}

/** Rethrows all errors except those with these reasons. */
function ignoring(...ignored: readonly ApiErrorReason[]): (error: unknown) => void {
  return (error) => {
    if (!isApiError(error, ...ignored)) throw error;
  };
}
