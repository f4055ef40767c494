import type { Pod } from '../../src/api/generated/core-v1.ts';
import { Draw } from './draw.ts';
import { dressedPod } from './dress-pod.ts';
import { claimsOf } from './plan-claims.ts';
import {
  type ClusterPlan,
  drawCluster,
  drawClusterFaults,
  drawMeddling,
  type PlannedMeddling,
} from './plan-cluster.ts';
import { drawFaults, drawMoreFaults, type PlannedFault } from './plan-faults.ts';
import { drawObjects, type PlannedObject } from './plan-objects.ts';
import { debuggedPod, drawPod, editedPod, LATE_IMAGE } from './plan-pods.ts';

/** What users do. A `key` is a pod's place: the name of its manifest, or its name at the API server. */
export type PlannedAction = PlannedObject | PlannedMeddling | PodAction;

type PodAction = { readonly at: number } /** The pod is there from now on, in the place of whatever was there. */ & (
  | { readonly do: 'put'; readonly from: SimSource; readonly key: string; readonly pod: Pod }
  | { readonly do: 'remove'; readonly from: SimSource; readonly key: string }
  /** Graceful deletion: it is marked, and leaves once nothing of it runs any more. */
  | { readonly do: 'delete'; readonly key: string; readonly graceSeconds: number }
  | { readonly do: 'publish'; readonly image: string }
);

export type SimSource = 'file' | 'api';

/** Everything that happens to an agent in one world, besides what follows from it. */
export interface WorldPlan {
  readonly seed: number;
  readonly actions: readonly PlannedAction[];
  readonly faults: readonly PlannedFault[];
  /** Where pods come from: a node of a cluster has both, one that stands alone has manifests. */
  readonly sources: readonly [SimSource, ...SimSource[]];
  /** What the runtime tells by itself: all that CRI's events hold, only ids as containerd 1.6 does, or nothing. */
  readonly events: 'full' | 'ids' | 'none';
  /** Containers write logs, which are rotated. */
  readonly hasLogs: boolean;
  /** Absent: the node stands alone. */
  readonly cluster: ClusterPlan | undefined;
  readonly times: WorldTimes;
}

/** Milliseconds from the start of the world. */
export interface WorldTimes {
  /** Users and misfortunes rest from here on. */
  readonly calm: number;
  /** Everything must have come to rest; then all pods are deleted. */
  readonly settled: number;
  /** Nothing may be left. */
  readonly end: number;
}

export interface PlanOptions {
  readonly pods: number;
  readonly hours: number;
}

const EVENTS: readonly [WorldPlan['events'], ...WorldPlan['events'][]] = ['full', 'full', 'ids', 'ids', 'full', 'none'];

const ALONE: WorldPlan['sources'] = ['file'];
const IN_A_CLUSTER: WorldPlan['sources'] = ['file', 'api'];

export function planWorld(seed: number, { pods, hours }: PlanOptions): WorldPlan {
  const end = Math.round(hours * 3_600_000);
  const times = { calm: Math.round(end * 0.6), settled: Math.round(end * 0.88), end };
  const shape = new Draw(seed, 'shape');
  const sources = shape.chance(0.6) ? IN_A_CLUSTER : ALONE;
  const draw = new Draw(seed, 'pods');
  const actions = Array.from({ length: pods }, (_, index) => drawStory(draw, index, sources, times.calm)).flat();
  actions.push({ at: draw.int(0, times.calm), do: 'publish', image: LATE_IMAGE });
  actions.push(...drawDebugging(new Draw(seed, 'debugging'), actions, times.calm));
  const withClaims = claimsOf(seed, actions);
  const all = [
    ...actions.map((action) => dressed(seed, withClaims(action), sources)),
    ...drawObjects(new Draw(seed, 'objects'), times),
    ...(sources === IN_A_CLUSTER ? drawMeddling(new Draw(seed, 'meddling'), keysIn(actions), times.calm) : []),
  ];
  all.sort((a, b) => a.at - b.at);
  return {
    seed,
    sources,
    actions: all,
    faults: shape.chance(0.1) ? [] : drawAllFaults(seed, sources, times.calm),
    events: shape.pick(EVENTS),
    hasLogs: new Draw(seed, 'logs').chance(0.25),
    cluster: sources === IN_A_CLUSTER ? drawCluster(new Draw(seed, 'cluster')) : undefined,
    times,
  };
}

function keysIn(actions: readonly PodAction[]): { pods: string[]; statics: string[] } {
  const from = (source: SimSource): string[] => [
    ...new Set(actions.flatMap((action) => (action.do === 'put' && action.from === source ? action.key : []))),
  ];
  return { pods: from('api'), statics: from('file') };
}

function drawAllFaults(seed: number, sources: WorldPlan['sources'], calm: number): PlannedFault[] {
  const faults = [
    ...drawFaults(new Draw(seed, 'faults'), calm),
    ...drawMoreFaults(new Draw(seed, 'more faults'), calm),
    ...(sources === IN_A_CLUSTER ? drawClusterFaults(new Draw(seed, 'cluster faults'), calm) : []),
  ];
  return faults.sort((a, b) => a.at - b.at);
}

function dressed(seed: number, action: PodAction, sources: WorldPlan['sources']): PodAction {
  if (action.do !== 'put') return action;
  // Static pods of a node in a cluster may refer to nothing.
  const objects = action.from === (sources[1] ?? sources[0]);
  const tokens = action.from === 'api';
  return { ...action, pod: dressedPod(seed, action.pod, { objects, tokens }) };
}

/** What users do with one name. */
function drawStory(draw: Draw, index: number, sources: WorldPlan['sources'], calm: number): PodAction[] {
  const key = `pod-${index}`;
  const from = draw.chance(0.7) ? (sources[1] ?? sources[0]) : sources[0];
  let at = draw.int(0, Math.round(calm * 0.8));
  let lives = 0;
  const withUid = (pod: Pod, uid: number): Pod => ({ ...pod, metadata: { ...pod.metadata, uid: uidOf(index, uid) } });
  let pod = withUid(drawPod(draw, key), lives);
  const story: PodAction[] = [{ at, do: 'put', from, key, pod }];
  for (let step = 1; draw.chance(0.6); step++) {
    at += draw.chance(0.3) ? draw.int(0, 5_000) : draw.int(0, Math.round(calm * 0.3));
    if (at > calm) break;
    switch (draw.pick(['edit', 'recreate', 'replace', 'delete', 'delete', 'remove'])) {
      case 'edit':
        pod = editedPod(draw, pod, step);
        story.push({ at, do: 'put', from, key, pod });
        break;
      case 'recreate': // the same pod comes back, perhaps before it has ended
        story.push({ at, do: 'remove', from, key });
        at += draw.int(0, 40_000);
        // The API server never gives a UID twice; a manifest always has the same.
        if (from === 'api') pod = withUid(pod, ++lives);
        story.push({ at, do: 'put', from, key, pod });
        break;
      case 'replace': // another pod takes its name
        pod = withUid(drawPod(draw, key), ++lives);
        story.push({ at, do: 'put', from, key, pod });
        break;
      case 'delete':
        if (from === 'api') story.push(...drawDeletion(draw, at, key));
        else story.push({ at, do: 'remove', from, key });
        return story;
      default:
        story.push({ at, do: 'remove', from, key });
        return story;
    }
  }
  return story;
}

/** Some pods of the API server get an ephemeral container in the time between what else is done to them. */
function drawDebugging(draw: Draw, actions: readonly PodAction[], calm: number): PodAction[] {
  return actions.flatMap((action, index) => {
    if (action.do !== 'put' || action.from !== 'api' || !draw.chance(0.25)) return [];
    const next = actions.slice(index + 1).find((other) => 'key' in other && other.key === action.key);
    const isEdited = next?.do === 'put' && next.pod.metadata.uid === action.pod.metadata.uid;
    const until = next?.at ?? calm;
    if (isEdited || until <= action.at) return [];
    return [{ ...action, at: draw.int(action.at, until), pod: debuggedPod(draw, action.pod) }];
  });
}

/** Somebody may ask again meanwhile, with another grace period. */
function drawDeletion(draw: Draw, at: number, key: string): PodAction[] {
  const grace = (): number => draw.pick([1, 5, 15, 30, 60]);
  const first: PodAction = { at, do: 'delete', key, graceSeconds: grace() };
  if (draw.chance(0.6)) return [first];
  return [first, { at: at + draw.int(1, 20_000), do: 'delete', key, graceSeconds: grace() }];
}

function uidOf(index: number, life: number): string {
  return `uid-${index}-${life}`;
}
