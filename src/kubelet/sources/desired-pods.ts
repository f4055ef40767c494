import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { SourceError, SourceName, SourceSnapshot } from './pod-source.ts';
import { firstOfEachName, type SourceObjects } from './source-objects.ts';

/** The change of one pod between two snapshots. */
export type PodChange =
  | { readonly op: 'ADD' | 'UPDATE' | 'DELETE' | 'RECONCILE'; readonly pod: Pod }
  /** The pod was removed from its source: it is terminated with the grace period of its spec. */
  | { readonly op: 'REMOVE'; readonly pod: Pod };

/** The latest snapshot of every source. Immutable: a new snapshot makes a new value. */
export interface DesiredPods {
  /** Sources that have sent a complete snapshot. */
  readonly ready: ReadonlySet<SourceName>;
  readonly bySource: ReadonlyMap<SourceName, ReadonlyMap<string, Pod>>;
}

export const NO_PODS: DesiredPods = { ready: new Set(), bySource: new Map() };

export interface MergeResult {
  readonly desired: DesiredPods;
  /** Removals first, so that a replacement finds the old pod already terminating. */
  readonly changes: readonly PodChange[];
  readonly errors: readonly SourceError[];
  /** Other objects of the source; each name once. */
  readonly objects: SourceObjects | undefined;
}

/**
 * Merges a source's snapshot. Only pods of that source change. Of several pods (or other objects) with one full name in
 * a source, the first is used.
 */
export function mergeSnapshot(before: DesiredPods, source: SourceName, snapshot: SourceSnapshot): MergeResult {
  const known = before.bySource.get(source) ?? new Map<string, Pod>();
  const { pods, objects, errors } = withoutDuplicates(snapshot);
  const removed = [...known.values()].filter((pod) => !pods.has(pod.metadata.uid));
  const changes: PodChange[] = removed.map((pod) => ({ op: 'REMOVE', pod }));
  for (const pod of pods.values()) {
    const op = operation(known.get(pod.metadata.uid), pod);
    if (op) changes.push({ op, pod });
  }
  const desired = {
    ready: snapshot.incomplete ? before.ready : new Set([...before.ready, source]),
    bySource: new Map([...before.bySource, [source, pods]]),
  };
  return { desired, changes, errors, objects };
}

function operation(before: Pod | undefined, now: Pod): PodChange['op'] | undefined {
  if (before === now) return undefined;
  if (!before) return 'ADD';
  if (!same(desiredState(before), desiredState(now))) return now.metadata.deletionTimestamp ? 'DELETE' : 'UPDATE';
  return same(before.status, now.status) ? undefined : 'RECONCILE';
}

/** The parts of a pod that define the desired state; the time when it was first seen does not. */
function desiredState({ spec, metadata }: Pod): unknown {
  const { labels, annotations, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const { 'kubernetes.io/config.seen': _seen, ...wanted } = annotations ?? {};
  return { spec, labels, annotations: wanted, deletionTimestamp, deletionGracePeriodSeconds };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function withoutDuplicates({ pods, errors, objects }: SourceSnapshot): {
  pods: ReadonlyMap<string, Pod>;
  errors: readonly SourceError[];
  objects: SourceObjects | undefined;
} {
  const byName = new Map<string, Pod>();
  const duplicates: SourceError[] = [];
  for (const pod of pods) {
    const name = podFullName(pod);
    if (!byName.has(name)) {
      byName.set(name, pod);
      continue;
    }
    const location = `${pod.metadata.namespace}/${pod.metadata.name}`;
    duplicates.push({ location, message: 'another pod of this name comes first in the same source', duplicate: pod });
  }
  const others = objects && firstOfEachName(objects);
  for (const location of others?.duplicates ?? []) {
    duplicates.push({ location, message: 'another one of this name comes first in the same source' });
  }
  return {
    pods: new Map([...byName.values()].map((pod) => [pod.metadata.uid, pod])),
    errors: [...errors, ...duplicates],
    objects: others?.unique,
  };
}

export function allDesired({ bySource }: DesiredPods): Pod[] {
  return [...bySource.values()].flatMap((pods) => [...pods.values()]);
}
