import type { ApiErrorReason } from '../../src/kubelet/api-client/api-server.ts';
import type { ApiVerb } from '../../src/kubelet/api-client/fake/api-faults.ts';
import type { Draw } from './draw.ts';
import type { PlannedFault } from './plan-faults.ts';

/** Faults between a node and its cluster. */
export type ClusterFault =
  /** Each n-th call fails for `ms`, possibly with a Retry-After. */
  | {
      readonly kind: 'apiBusy';
      readonly ms: number;
      readonly every: number;
      readonly reason: ApiErrorReason;
      readonly retryAfterMs: number | undefined;
    }
  /** Every call takes `callMs` for `ms`. */
  | { readonly kind: 'apiSlow'; readonly ms: number; readonly callMs: number }
  /** No event can be written for `ms`. */
  | { readonly kind: 'eventsDown'; readonly ms: number; readonly how: 'refused' | 'hangs' }
  /** The next call of the verb hangs. */
  | { readonly kind: 'apiHang'; readonly verb: ApiVerb }
  /** The runtime's network is not ready for `ms`. */
  | { readonly kind: 'networkDown'; readonly ms: number };

/** A change that another client makes to the node or to its pods. */
export type ExternalChange = NodeChange | PodChange | MirrorDeletion;

export type NodeChange = { readonly on: 'node' } & (
  | { readonly what: 'label' | 'annotation' | 'taint' | 'condition'; readonly value: string }
  | { readonly what: 'cordon'; readonly value: boolean }
  /** As the node controller does for an unreachable node: every condition is Unknown. */
  | { readonly what: 'markUnreachable' }
  /** Overwrites fields that the agent owns. */
  | { readonly what: 'overwrite' }
  /** Deletes the node; its dependents are garbage-collected later. */
  | { readonly what: 'delete'; readonly collectedMs: number }
  /** Creates the node if it is missing. */
  | { readonly what: 'create' }
);

export type PodChange = { readonly on: 'pod'; readonly key: string } & (
  | { readonly what: 'label' | 'condition'; readonly value: string }
  /** As the node controller does for an unreachable node: the pod is not ready. */
  | { readonly what: 'markUnreachable' }
);

/** Deletes the mirror pod of the static pod with this key. */
export interface MirrorDeletion {
  readonly on: 'mirror';
  readonly key: string;
  readonly graceSeconds: number;
}

export interface PlannedChange {
  readonly at: number;
  readonly do: 'externalChange';
  readonly change: ExternalChange;
}

/** The state of the cluster when the first agent starts. */
export interface ClusterPlan {
  /** Whether a node object exists, and whether it describes this machine. */
  readonly node: 'none' | 'own' | 'empty';
  /** Until then another machine renews the lease of the node's name. */
  readonly otherMachineUntilMs: number;
  /** The validity of the node's certificates. */
  readonly certificateMs: number;
}

export function drawCluster(draw: Draw): ClusterPlan {
  const node = draw.pick(['none', 'none', 'own', 'empty'] as const);
  const otherMachineUntilMs = draw.chance(0.1) ? draw.int(10_000, 240_000) : 0;
  return { node, otherMachineUntilMs, certificateMs: draw.int(300_000, 1_200_000) };
}

export function drawClusterFaults(draw: Draw, untilMs: number): PlannedFault[] {
  const at = (): number => draw.int(0, untilMs);
  const sometimes = (probability: number, most: number, make: () => ClusterFault): PlannedFault[] =>
    draw.chance(probability) ? draw.several(1, most, () => ({ at: at(), ...make() })) : [];
  return [
    ...sometimes(0.4, 3, () => ({
      kind: 'apiBusy',
      ms: draw.int(1_000, 120_000),
      every: draw.pick([1, 1, 2, 3]),
      reason: draw.pick<ApiErrorReason>(['TooManyRequests', 'TooManyRequests', 'InternalError']),
      retryAfterMs: draw.pick([undefined, 1_000, draw.int(1_000, 20_000)]),
    })),
    ...sometimes(0.3, 2, () => ({ kind: 'apiSlow', ms: draw.int(1_000, 90_000), callMs: draw.int(500, 15_000) })),
    ...sometimes(0.3, 2, () => ({
      kind: 'eventsDown',
      ms: draw.int(60_000, 1_800_000),
      how: draw.pick(['refused', 'hangs'] as const),
    })),
    ...sometimes(0.4, 4, () => ({
      kind: 'apiHang',
      verb: draw.pick<ApiVerb>(['update', 'update', 'patch', 'get', 'create', 'list', 'createToken']),
    })),
    ...draw.several(0, 6, (): PlannedFault => {
      const verb = draw.pick<ApiVerb>(['update', 'update', 'createToken']);
      const reason = draw.pick<ApiErrorReason>(['Unavailable', 'Conflict', 'InternalError', 'TooManyRequests']);
      return { at: at(), kind: 'api', verb, fault: { kind: draw.pick(['before', 'after'] as const), reason } };
    }),
    ...sometimes(0.4, 2, () => ({ kind: 'networkDown', ms: draw.int(500, 120_000) })),
  ];
}

/** Draws the changes of other clients until `untilMs`; static pods have mirror pods. */
export function drawExternalChanges(
  draw: Draw,
  keys: { readonly pods: readonly string[]; readonly statics: readonly string[] },
  untilMs: number,
): PlannedChange[] {
  const planned: PlannedChange[] = [];
  const add = (at: number, change: ExternalChange): void => void planned.push({ at, do: 'externalChange', change });
  const at = (): number => draw.int(1_000, untilMs);
  for (let count = draw.int(0, 8); count > 0; count--) add(at(), drawOnNode(draw));
  for (let count = draw.int(0, 10); count > 0 && keys.pods.length > 0; count--) {
    const key = keys.pods[draw.int(0, keys.pods.length - 1)] ?? '';
    const value = String(draw.int(0, 9));
    const what = draw.pick(['label', 'condition', 'condition', 'markUnreachable'] as const);
    add(at(), what === 'markUnreachable' ? { on: 'pod', key, what } : { on: 'pod', key, what, value });
  }
  for (let count = draw.int(0, 4); count > 0 && keys.statics.length > 0; count--) {
    const key = keys.statics[draw.int(0, keys.statics.length - 1)] ?? '';
    add(at(), { on: 'mirror', key, graceSeconds: draw.pick([0, 0, 5, 30]) });
  }
  if (draw.chance(0.2)) {
    const deletedAt = at();
    add(deletedAt, { on: 'node', what: 'delete', collectedMs: draw.int(100, 30_000) });
    if (draw.chance(0.6)) add(Math.min(untilMs, deletedAt + draw.int(100, 120_000)), { on: 'node', what: 'create' });
  }
  return planned;
}

function drawOnNode(draw: Draw): ExternalChange {
  const what = draw.pick([
    'label',
    'annotation',
    'taint',
    'condition',
    'cordon',
    'markUnreachable',
    'overwrite',
  ] as const);
  switch (what) {
    case 'cordon':
      return { on: 'node', what, value: draw.chance(0.5) };
    case 'markUnreachable':
    case 'overwrite':
      return { on: 'node', what };
    default:
      return { on: 'node', what, value: String(draw.int(0, 9)) };
  }
}
