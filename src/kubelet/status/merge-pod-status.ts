import type { PodCondition, PodStatus } from '../../api/generated/core-v1.ts';
import { formatTime } from '../../base/rfc3339.ts';
import { isSame } from '../api-client/strategic-diff.ts';
import { isTerminal } from './pod-phase.ts';

/** Conditions that nobody but the node agent writes. */
const OWN_CONDITIONS: readonly string[] = [
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodResizeInProgress',
  'PodResizePending',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
];
/** A condition that the agent sets together with a terminal phase, and others at any time. */
const SHARED_CONDITION = 'DisruptionTarget';
/** Parts of a status that the agent never writes. */
const FOREIGN_FIELDS = [
  'nominatedNodeName',
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
] as const;

export interface StatusMerge {
  /** What the API server has. */
  readonly api: PodStatus;
  /** What the agent has found. */
  readonly own: PodStatus;
  /** Containers of the pod may still run, so what it uses is not free yet. */
  readonly mayRun: boolean;
  /** It goes to the mirror of a static pod, which may run once more under the same mirror. */
  readonly isMirror: boolean;
  readonly nowMs: number;
}

/**
 * The status that the API server is to have.
 * 1. What others write stays: their conditions, and fields that are not the agent's.
 * 2. A terminal phase is told only when no container can run any more, and is never left.
 * 3. A pod with a terminal phase is not ready.
 * 4. What holds for as long as the pod lives is never taken back: its start, its QoS class, the generation seen.
 * 5. The manifest of a static pod has no status: what its mirror says holds since when it says so, also in the next life
 *    of the agent.
 */
export function mergePodStatus(merge: StatusMerge): PodStatus {
  const { api, own } = merge;
  const generation = Math.max(api.observedGeneration ?? 0, own.observedGeneration ?? 0);
  const startTime = api.startTime ?? own.startTime;
  const qosClass = own.qosClass ?? api.qosClass;
  const phase = phaseOf(merge);
  const conditions = conditionsOf(merge, phase.phase);
  return {
    ...without(own, ['phase', 'reason', 'message', 'conditions', ...FOREIGN_FIELDS]),
    ...phase,
    ...(conditions.length > 0 && { conditions }),
    ...(generation > 0 && { observedGeneration: generation }),
    ...(startTime !== undefined && { startTime }),
    ...(qosClass !== undefined && { qosClass }),
    ...foreignFields(api),
  };
}

/**
 * Whether the API server has all that a merged status says, as far as that is worth a request by itself: the times of
 * conditions are not.
 */
export function statusesAgree(api: PodStatus, merged: PodStatus): boolean {
  const timeless = ({ conditions, ...status }: PodStatus): unknown => ({
    ...status,
    conditions: conditions?.map(({ type, status: value, reason, message }) => ({ type, value, reason, message })),
  });
  return isSame(timeless(api), timeless(merged));
}

function phaseOf({ api, own, mayRun, isMirror }: StatusMerge): Pick<PodStatus, 'phase' | 'reason' | 'message'> {
  const staysEnded = isTerminal(api.phase) && own.phase !== api.phase && !isMirror;
  const endsTooEarly = !isTerminal(api.phase) && isTerminal(own.phase) && mayRun;
  const { phase = 'Pending', reason, message } = staysEnded || endsTooEarly ? api : own;
  return { phase, ...(reason && { reason }), ...(message && { message }) };
}

/** In the order in which the API server has them; those it has not come last. */
function conditionsOf(merge: StatusMerge, phase: string | undefined): PodCondition[] {
  const { api, own } = merge;
  const before = api.conditions ?? [];
  const ours = (own.conditions ?? []).filter((condition) => isOurs(condition, merge));
  const ourOf = (type: string): PodCondition | undefined => ours.find((condition) => condition.type === type);
  const merged = [
    ...before.flatMap(
      (condition) => ourOf(condition.type) ?? (OWN_CONDITIONS.includes(condition.type) ? [] : condition),
    ),
    ...ours.filter(({ type }) => !before.some((condition) => condition.type === type)),
  ].map((condition) => (isTimedByServer(condition, merge) ? sinceWhen(condition, merge) : condition));
  return isTerminal(phase) ? merged.map((condition) => unready(condition, phase, merge)) : merged;
}

function isOurs({ type }: PodCondition, { api, own, mayRun }: StatusMerge): boolean {
  if (type !== SHARED_CONDITION) return OWN_CONDITIONS.includes(type);
  return !isTerminal(api.phase) && isTerminal(own.phase) && !mayRun;
}

/** A disruption was held back until the containers had stopped: it holds from when it is told. */
function isTimedByServer({ type, status }: PodCondition, { api, isMirror }: StatusMerge): boolean {
  if (type === SHARED_CONDITION) return true;
  return isMirror && api.conditions?.find((before) => before.type === type)?.status === status;
}

function sinceWhen(condition: PodCondition, { api, nowMs }: StatusMerge): PodCondition {
  const before = api.conditions?.find(({ type }) => type === condition.type);
  const isNews = before?.status !== condition.status;
  return { ...condition, lastTransitionTime: isNews ? formatTime(nowMs) : before.lastTransitionTime };
}

function unready(condition: PodCondition, phase: 'Succeeded' | 'Failed', { api, nowMs }: StatusMerge): PodCondition {
  const { type, status, observedGeneration } = condition;
  if ((type !== 'Ready' && type !== 'ContainersReady') || status !== 'True') return condition;
  const before = api.conditions?.find((candidate) => candidate.type === type);
  return {
    type,
    status: 'False',
    reason: phase === 'Failed' ? 'PodFailed' : 'PodCompleted',
    ...(observedGeneration && { observedGeneration }),
    lastTransitionTime: before?.status === 'False' ? before.lastTransitionTime : formatTime(nowMs),
  };
}

function foreignFields(api: PodStatus): PodStatus {
  return Object.fromEntries(
    FOREIGN_FIELDS.filter((field) => api[field] !== undefined).map((field) => [field, api[field]]),
  );
}

function without(status: PodStatus, fields: readonly (keyof PodStatus)[]): PodStatus {
  const named: readonly string[] = fields;
  return Object.fromEntries(Object.entries(status).filter(([field]) => !named.includes(field)));
}
