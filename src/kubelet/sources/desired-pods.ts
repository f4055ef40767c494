import type { Pod } from '../../api/generated/core-v1.ts';
import { podFullName } from '../../api/pod-names.ts';
import type { SourceName, SourceError, SourceSnapshot } from './pod-source.ts';
import { firstOfEachName, type SourceObjects } from './source-objects.ts';

/** What a source's new word means for one pod. */
export type PodChange =
  | { readonly op: 'ADD' | 'UPDATE' | 'DELETE' | 'RECONCILE'; readonly pod: Pod }
  /** It left its source: it is to end, with the grace period of its spec. */
  | { readonly op: 'REMOVE'; readonly pod: Pod };

/** What every source said last. A value: the next word makes a new one. */
export interface DesiredPods {
  /** Sources that have told all they want. */
  readonly ready: ReadonlySet<SourceName>;
  readonly bySource: ReadonlyMap<SourceName, ReadonlyMap<string, Pod>>;
}

export const NO_PODS: DesiredPods = { ready: new Set(), bySource: new Map() };

export interface MergeResult {
  readonly desired: DesiredPods;
  /** Removals first: what takes an old pod's place finds its name on the way to being free. */
  readonly changes: readonly PodChange[];
  readonly errors: readonly SourceError[];
  /** What stands beside the source's pods, each name once. */
  readonly objects: SourceObjects | undefined;
}

/**
 * Takes a source's word in. Only that source's own pods change: a pod of one source never disappears because of what
 * another says. Of two pods (or other objects) with one full name in a source, the first counts.
 */
export function mergeSnapshot(before: DesiredPods, source: SourceName, snapshot: SourceSnapshot): MergeResult {
  const known = before.bySource.get(source) ?? new Map<string, Pod>();
  const { pods, objects, problems } = withoutDuplicates(snapshot);
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
  return { desired, changes, errors: problems, objects };
}

function operation(before: Pod | undefined, now: Pod): PodChange['op'] | undefined {
  if (before === now) return undefined;
  if (!before) return 'ADD';
  if (!same(desiredState(before), desiredState(now))) return now.metadata.deletionTimestamp ? 'DELETE' : 'UPDATE';
  return same(before.status, now.status) ? undefined : 'RECONCILE';
}

/** The parts of a pod that tell what is wanted; the time at which it was first seen is none of them. */
function desiredState({ spec, metadata }: Pod): unknown {
  const { labels, annotations, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  const { 'kubernetes.io/config.seen': _seen, ...wanted } = annotations ?? {};
  return { spec, labels, annotations: wanted, deletionTimestamp, deletionGracePeriodSeconds };
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function withoutDuplicates({ pods, errors: problems, objects }: SourceSnapshot): {
  pods: ReadonlyMap<string, Pod>;
  problems: readonly SourceError[];
  objects: SourceObjects | undefined;
} {
  const byName = new Map<string, Pod>();
  const doubles: SourceError[] = [];
  for (const pod of pods) {
    const name = podFullName(pod);
    if (!byName.has(name)) {
      byName.set(name, pod);
      continue;
    }
    const location = `${pod.metadata.namespace}/${pod.metadata.name}`;
    doubles.push({ location, message: 'another pod of this name comes first in the same source' });
  }
  const beside = objects && firstOfEachName(objects);
  for (const location of beside?.doubles ?? []) {
    doubles.push({ location, message: 'another one of this name comes first in the same source' });
  }
  return {
    pods: new Map([...byName.values()].map((pod) => [pod.metadata.uid, pod])),
    problems: [...problems, ...doubles],
    objects: beside?.unique,
  };
}

export function allDesired({ bySource }: DesiredPods): Pod[] {
  return [...bySource.values()].flatMap((pods) => [...pods.values()]);
}
