import type { Pod } from '../../src/api/generated/core-v1.ts';
import { Draw } from './draw.ts';
import { addClaims } from './plan-claims.ts';
import {
  type ClusterPlan,
  drawCluster,
  drawClusterFaults,
  drawExternalChanges,
  type PlannedChange,
} from './plan-cluster.ts';
import { drawDiskFaults, withDisk } from './plan-disks.ts';
import { drawFaults, drawGroupFaults, drawMoreFaults, type PlannedFault } from './plan-faults.ts';
import { BOUND_PODS, drawMachine, drawMachineFaults, type MachinePlan, withMachineResources } from './plan-machine.ts';
import { drawObjects, type PlannedObject } from './plan-objects.ts';
import { debuggedPod, drawPod, editedPod, LATE_IMAGE } from './plan-pods.ts';
import { drawPressureFaults, withPriority } from './plan-pressure.ts';
import { addPodFeatures } from './pod-features.ts';

/** An action of a user. A `key` is the name of a pod's manifest, or its name at the API server. */
export type PlannedAction = PlannedObject | PlannedChange | PodAction;

/** `put` creates or replaces the pod of this key. */
type PodAction = { readonly at: number } & (
  | { readonly do: 'put'; readonly from: SimSource; readonly key: string; readonly pod: Pod }
  | { readonly do: 'remove'; readonly from: SimSource; readonly key: string }
  /** Graceful deletion: the pod is marked, and removed once no container of it runs. */
  | { readonly do: 'delete'; readonly key: string; readonly graceSeconds: number }
  | { readonly do: 'publish'; readonly image: string }
);

export type SimSource = 'file' | 'api';

/** All inputs of one world. */
export interface WorldPlan {
  readonly seed: number;
  readonly actions: readonly PlannedAction[];
  readonly faults: readonly PlannedFault[];
  /** The pod sources: a node of a cluster has both, a standalone node has manifests only. */
  readonly sources: readonly [SimSource, ...SimSource[]];
  /** The runtime's events: complete CRI events, ids only as in containerd 1.6, or none. */
  readonly events: 'full' | 'ids' | 'none';
  /** Containers write logs, which are rotated. */
  readonly hasLogs: boolean;
  /** Absent on a standalone node. */
  readonly cluster: ClusterPlan | undefined;
  /** Absent: a machine with one CPU, whose resources are not assigned to pods. */
  readonly machine: MachinePlan | undefined;
  readonly times: WorldTimes;
}

/** Milliseconds from the start of the world. */
export interface WorldTimes {
  /** The end of user actions and faults. */
  readonly calm: number;
  /** Everything must have settled; then all pods are deleted. */
  readonly settled: number;
  /** No resource may be left. */
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
  const actions = Array.from({ length: pods }, (_, index) => drawPodActions(draw, index, sources, times.calm)).flat();
  actions.push({ at: draw.int(0, times.calm), do: 'publish', image: LATE_IMAGE });
  actions.push(...drawDebugging(new Draw(seed, 'debugging'), actions, times.calm));
  const withClaims = addClaims(seed, actions);
  const machine = drawMachine(new Draw(seed, 'machine'));
  const all = [
    ...actions.map((action) => withFeatures(seed, withClaims(action), sources)),
    ...(machine ? drawBoundPods(seed, pods, sources, times.calm) : []),
    ...drawObjects(new Draw(seed, 'objects'), times),
    ...(sources === IN_A_CLUSTER ? drawExternalChanges(new Draw(seed, 'meddling'), keysIn(actions), times.calm) : []),
  ];
  all.sort((a, b) => a.at - b.at);
  return {
    seed,
    sources,
    actions: all,
    faults: shape.chance(0.1) ? [] : drawAllFaults(seed, sources, machine, times.calm),
    events: shape.pick(EVENTS),
    hasLogs: new Draw(seed, 'logs').chance(0.25),
    cluster: sources === IN_A_CLUSTER ? drawCluster(new Draw(seed, 'cluster')) : undefined,
    machine,
    times,
  };
}

function keysIn(actions: readonly PodAction[]): { pods: string[]; statics: string[] } {
  const from = (source: SimSource): string[] => [
    ...new Set(actions.flatMap((action) => (action.do === 'put' && action.from === source ? action.key : []))),
  ];
  return { pods: from('api'), statics: from('file') };
}

function drawAllFaults(
  seed: number,
  sources: WorldPlan['sources'],
  machine: MachinePlan | undefined,
  calm: number,
): PlannedFault[] {
  const faults = [
    ...drawFaults(new Draw(seed, 'faults'), calm),
    ...drawMoreFaults(new Draw(seed, 'more faults'), calm),
    ...drawGroupFaults(new Draw(seed, 'group faults'), calm),
    ...(sources === IN_A_CLUSTER ? drawClusterFaults(new Draw(seed, 'cluster faults'), calm) : []),
    ...(sources === IN_A_CLUSTER ? drawDiskFaults(new Draw(seed, 'disk faults'), calm) : []),
    ...(sources === IN_A_CLUSTER ? drawPressureFaults(new Draw(seed, 'pressure faults'), calm) : []),
    ...(machine ? drawMachineFaults(new Draw(seed, 'machine faults'), machine, calm) : []),
  ];
  return faults.sort((a, b) => a.at - b.at);
}

function withFeatures(seed: number, action: PodAction, sources: WorldPlan['sources']): PodAction {
  if (action.do !== 'put') return action;
  // Static pods of a cluster node may not refer to objects.
  const objects = action.from === (sources[1] ?? sources[0]);
  const tokens = action.from === 'api';
  const pod = addPodFeatures(seed, action.pod, { objects, tokens });
  return { ...action, pod: action.from === 'api' ? withPriority(seed, withDisk(seed, pod)) : pod };
}

/** Draws pods that compete for the resources of the machine; their names follow those of the `others`. */
function drawBoundPods(seed: number, others: number, sources: WorldPlan['sources'], calm: number): PodAction[] {
  const draw = new Draw(seed, 'bound pods');
  const indexes = Array.from({ length: BOUND_PODS }, (_, index) => others + index);
  const actions = indexes.flatMap((index) => drawPodActions(draw, index, sources, calm));
  return actions.map((action) => {
    if (action.do !== 'put') return action;
    const resources = new Draw(seed, `resources ${action.pod.metadata.uid}`);
    return { ...action, pod: withMachineResources(resources, action.pod, { hasClaims: action.from === 'api' }) };
  });
}

/** Draws the user actions of one pod name. */
function drawPodActions(draw: Draw, index: number, sources: WorldPlan['sources'], calm: number): PodAction[] {
  const key = `pod-${index}`;
  const from = draw.chance(0.7) ? (sources[1] ?? sources[0]) : sources[0];
  let at = draw.int(0, Math.round(calm * 0.8));
  let generation = 0;
  const withUid = (pod: Pod, uid: number): Pod => ({ ...pod, metadata: { ...pod.metadata, uid: uidOf(index, uid) } });
  let pod = withUid(drawPod(draw, key), generation);
  const podActions: PodAction[] = [{ at, do: 'put', from, key, pod }];
  for (let step = 1; draw.chance(0.6); step++) {
    at += draw.chance(0.3) ? draw.int(0, 5_000) : draw.int(0, Math.round(calm * 0.3));
    if (at > calm) break;
    switch (draw.pick(['edit', 'recreate', 'replace', 'delete', 'delete', 'remove'])) {
      case 'edit':
        pod = editedPod(draw, pod, step);
        podActions.push({ at, do: 'put', from, key, pod });
        break;
      case 'recreate': // the same pod is created again, perhaps before it has ended
        podActions.push({ at, do: 'remove', from, key });
        at += draw.int(0, 40_000);
        // The API server never reuses a UID; a manifest always has the same UID.
        if (from === 'api') pod = withUid(pod, ++generation);
        podActions.push({ at, do: 'put', from, key, pod });
        break;
      case 'replace': // another pod with the same name
        pod = withUid(drawPod(draw, key), ++generation);
        podActions.push({ at, do: 'put', from, key, pod });
        break;
      case 'delete':
        if (from === 'api') podActions.push(...drawDeletion(draw, at, key));
        else podActions.push({ at, do: 'remove', from, key });
        return podActions;
      default:
        podActions.push({ at, do: 'remove', from, key });
        return podActions;
    }
  }
  return podActions;
}

/** Adds an ephemeral container to some pods of the API server, between their other actions. */
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

/** The deletion may be requested twice, with different grace periods. */
function drawDeletion(draw: Draw, at: number, key: string): PodAction[] {
  const grace = (): number => draw.pick([1, 5, 15, 30, 60]);
  const first: PodAction = { at, do: 'delete', key, graceSeconds: grace() };
  if (draw.chance(0.6)) return [first];
  return [first, { at: at + draw.int(1, 20_000), do: 'delete', key, graceSeconds: grace() }];
}

function uidOf(index: number, generation: number): string {
  return `uid-${index}-${generation}`;
}
