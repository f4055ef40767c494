import type { ApiErrorReason } from '../../src/kubelet/api-client/api-server.ts';
import type { ApiVerb } from '../../src/kubelet/api-client/fake/api-faults.ts';
import type { Draw } from './draw.ts';
import type { PlannedFault } from './plan-faults.ts';

/** What goes wrong between a node and its cluster. */
export type ClusterFault =
  /** For so long each n-th call fails; the server may say when to come back. */
  | {
      readonly kind: 'apiBusy';
      readonly ms: number;
      readonly every: number;
      readonly reason: ApiErrorReason;
      readonly retryAfterMs: number | undefined;
    }
  /** For so long every call takes as long as this. */
  | { readonly kind: 'apiSlow'; readonly ms: number; readonly callMs: number }
  /** For so long no event can be written. */
  | { readonly kind: 'eventsDown'; readonly ms: number; readonly how: 'refused' | 'hangs' }
  /** The next call of the verb never ends. */
  | { readonly kind: 'apiHang'; readonly verb: ApiVerb }
  /** For so long the runtime has no network for pods. */
  | { readonly kind: 'networkDown'; readonly ms: number };

/** What others do to the node, and to the pods of which the agent tells. */
export type Meddling = NodeMeddling | PodMeddling | MirrorMeddling;

export type NodeMeddling = { readonly on: 'node' } & (
  | { readonly what: 'label' | 'annotation' | 'taint' | 'condition'; readonly value: string }
  | { readonly what: 'cordon'; readonly value: boolean }
  /** As the controller does that misses a node: every condition is unknown. */
  | { readonly what: 'doubt' }
  /** Somebody takes away what the node says of itself. */
  | { readonly what: 'spoil' }
  /** It is deleted, and what belongs to it goes a while later. */
  | { readonly what: 'delete'; readonly collectedMs: number }
  /** It is made by somebody else, if there is none. */
  | { readonly what: 'create' }
);

export type PodMeddling = { readonly on: 'pod'; readonly key: string } & (
  | { readonly what: 'label' | 'condition'; readonly value: string }
  /** As the controller does that misses a node: the pod is not ready. */
  | { readonly what: 'doubt' }
);

/** Somebody deletes the mirror of the static pod of this key. */
export interface MirrorMeddling {
  readonly on: 'mirror';
  readonly key: string;
  readonly graceSeconds: number;
}

export interface PlannedMeddling {
  readonly at: number;
  readonly do: 'meddle';
  readonly meddling: Meddling;
}

/** How the cluster is when the first agent starts. */
export interface ClusterPlan {
  /** Whether there is a node object, and of whom. */
  readonly node: 'none' | 'own' | 'empty';
  /** Until then another machine lives under the node's name. */
  readonly rivalUntilMs: number;
  /** How long the node's certificates last. */
  readonly certificateMs: number;
}

export function drawCluster(draw: Draw): ClusterPlan {
  const node = draw.pick(['none', 'none', 'own', 'empty'] as const);
  const rivalUntilMs = draw.chance(0.1) ? draw.int(10_000, 240_000) : 0;
  return { node, rivalUntilMs, certificateMs: draw.int(300_000, 1_200_000) };
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

/** What others do in a world with these pods, until `untilMs`; static pods have mirrors. */
export function drawMeddling(
  draw: Draw,
  keys: { readonly pods: readonly string[]; readonly statics: readonly string[] },
  untilMs: number,
): PlannedMeddling[] {
  const planned: PlannedMeddling[] = [];
  const add = (at: number, meddling: Meddling): void => void planned.push({ at, do: 'meddle', meddling });
  const at = (): number => draw.int(1_000, untilMs);
  for (let count = draw.int(0, 8); count > 0; count--) add(at(), drawOnNode(draw));
  for (let count = draw.int(0, 10); count > 0 && keys.pods.length > 0; count--) {
    const key = keys.pods[draw.int(0, keys.pods.length - 1)] ?? '';
    const value = String(draw.int(0, 9));
    const what = draw.pick(['label', 'condition', 'condition', 'doubt'] as const);
    add(at(), what === 'doubt' ? { on: 'pod', key, what } : { on: 'pod', key, what, value });
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

function drawOnNode(draw: Draw): Meddling {
  const what = draw.pick(['label', 'annotation', 'taint', 'condition', 'cordon', 'doubt', 'spoil'] as const);
  switch (what) {
    case 'cordon':
      return { on: 'node', what, value: draw.chance(0.5) };
    case 'doubt':
    case 'spoil':
      return { on: 'node', what };
    default:
      return { on: 'node', what, value: String(draw.int(0, 9)) };
  }
}
