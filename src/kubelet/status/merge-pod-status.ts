import type { PodCondition, PodStatus } from '../../api/generated/core-v1.ts';
import { formatTime } from '../../base/rfc3339.ts';
import { isSame } from '../api-client/strategic-diff.ts';
import { isTerminal } from './pod-phase.ts';

/** Conditions that only the node agent writes. */
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
/** The agent sets this condition with a terminal phase; other components set it at any time. */
const SHARED_CONDITION = 'DisruptionTarget';
/** Fields that the agent never writes. */
const FOREIGN_FIELDS = [
  'nominatedNodeName',
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nodeAllocatableResourceClaimStatuses',
] as const;

export interface StatusMerge {
  /** The status at the API server. */
  readonly api: PodStatus;
  /** The status that the agent computed. */
  readonly own: PodStatus;
  /** Containers of the pod may still run, so its resources are in use. */
  readonly hasRunningContainers: boolean;
  /** The status of a mirror pod: its static pod may run again under the same mirror pod. */
  readonly isMirror: boolean;
  readonly nowMs: number;
}

/**
 * Merges the agent's status into the one at the API server.
 * 1. Conditions and fields of other components stay.
 * 2. A terminal phase is sent only when no container can run any more, and is never left.
 * 3. A pod with a terminal phase is not ready.
 * 4. Start time, QoS class and observed generation are never taken back.
 * 5. The manifest of a static pod has no status: the conditions of its mirror pod keep their transition times, also after
 *    a restart of the agent.
 */
export function mergePodStatus(merge: StatusMerge): PodStatus {
  const { api, own } = merge;
  const generation = Math.max(api.observedGeneration ?? 0, own.observedGeneration ?? 0);
  const startTime = api.startTime ?? own.startTime;
  const qosClass = own.qosClass ?? api.qosClass;
  const phase = mergedPhase(merge);
  const conditions = mergedConditions(merge, phase.phase);
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
 * Whether the API server has the merged status. Transition times are ignored: a difference in them alone is no reason for
 * a request.
 */
export function statusesAgree(api: PodStatus, merged: PodStatus): boolean {
  const timeless = ({ conditions, ...status }: PodStatus): unknown => ({
    ...status,
    conditions: conditions?.map(({ type, status: value, reason, message }) => ({ type, value, reason, message })),
  });
  return isSame(timeless(api), timeless(merged));
}

function mergedPhase({
  api,
  own,
  hasRunningContainers: mayRun,
  isMirror,
}: StatusMerge): Pick<PodStatus, 'phase' | 'reason' | 'message'> {
  const staysEnded = isTerminal(api.phase) && own.phase !== api.phase && !isMirror;
  const endsTooEarly = !isTerminal(api.phase) && isTerminal(own.phase) && mayRun;
  const { phase = 'Pending', reason, message } = staysEnded || endsTooEarly ? api : own;
  return { phase, ...(reason && { reason }), ...(message && { message }) };
}

/** In the order of the API server; new ones come last. */
function mergedConditions(merge: StatusMerge, phase: string | undefined): PodCondition[] {
  const { api, own } = merge;
  const before = api.conditions ?? [];
  const ours = (own.conditions ?? []).filter((condition) => isOurs(condition, merge));
  const ourOf = (type: string): PodCondition | undefined => ours.find((condition) => condition.type === type);
  const merged = [
    ...before.flatMap(
      (condition) => ourOf(condition.type) ?? (OWN_CONDITIONS.includes(condition.type) ? [] : condition),
    ),
    ...ours.filter(({ type }) => !before.some((condition) => condition.type === type)),
  ].map((condition) => (isTimedByServer(condition, merge) ? withTransitionTime(condition, merge) : condition));
  return isTerminal(phase) ? merged.map((condition) => unready(condition, phase, merge)) : merged;
}

function isOurs({ type }: PodCondition, { api, own, hasRunningContainers: mayRun }: StatusMerge): boolean {
  if (type !== SHARED_CONDITION) return OWN_CONDITIONS.includes(type);
  return !isTerminal(api.phase) && isTerminal(own.phase) && !mayRun;
}

/** A disruption is sent after the containers have stopped: its transition time is that of the request. */
function isTimedByServer({ type, status }: PodCondition, { api, isMirror }: StatusMerge): boolean {
  if (type === SHARED_CONDITION) return true;
  return isMirror && api.conditions?.find((before) => before.type === type)?.status === status;
}

function withTransitionTime(condition: PodCondition, { api, nowMs }: StatusMerge): PodCondition {
  const before = api.conditions?.find(({ type }) => type === condition.type);
  const isChanged = before?.status !== condition.status;
  return { ...condition, lastTransitionTime: isChanged ? formatTime(nowMs) : before.lastTransitionTime };
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
