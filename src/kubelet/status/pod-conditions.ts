import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/generated/core-v1.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import { isSidecar, mayRestartAllContainers } from '../pod/restart-rules.ts';
import type { ContainerStatuses } from './container-statuses.ts';
import { isTerminal, type PodPhase } from './pod-phase.ts';
import { unsatisfiedGates } from './readiness-gates.ts';
import { areAllRemoved, mustRestartAll, RESTARTING_ALL_CONDITION } from './restart-all-containers.ts';

/** The input of the conditions of a pod. */
export interface ConditionsView {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly statuses: ContainerStatuses;
  readonly phase: PodPhase;
  readonly previous: PodStatus | undefined;
  readonly failure?: PodFailure | undefined;
  /** Conditions of a resize; absent without one. */
  readonly resizing?: readonly PodCondition[] | undefined;
  readonly nowMs: number;
}

/** A condition without its type, generation and time. */
type ConditionValue = Pick<PodCondition, 'status' | 'reason' | 'message'>;

const KUBELET_CONDITIONS = [
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
] as const;

/** Further conditions of kubelet. */
const RESIZE_CONDITIONS = ['PodResizePending', 'PodResizeInProgress'];

/**
 * Conditions of other components as the API server has them, then kubelet's own in its order. A condition whose status has
 * not changed keeps its transition time.
 */
export function podConditions(view: ConditionsView): PodCondition[] {
  const foreign = foreignConditions(view);
  const containersReady = containersReadyValue(view);
  const values: Record<(typeof KUBELET_CONDITIONS)[number], ConditionValue> = {
    PodReadyToStartContainers: conditionValue(hasUsableSandbox(view)),
    Initialized: initializedValue(view),
    Ready: containersReady.status === 'True' ? readinessGatesValue(view.pod, foreign) : containersReady,
    ContainersReady: containersReady,
    PodScheduled: conditionValue(true),
  };
  return [
    ...foreign,
    ...(isTerminal(view.phase) ? [] : (view.resizing ?? [])),
    ...KUBELET_CONDITIONS.map((type) => condition(type, values[type], view)),
    ...restartingCondition(view),
  ];
}

function condition(type: string, value: ConditionValue, { pod, previous, nowMs }: ConditionsView): PodCondition {
  const before = previous?.conditions?.find((candidate) => candidate.type === type);
  const unchanged = before?.status === value.status ? before.lastTransitionTime : undefined;
  const { generation } = pod.metadata;
  return {
    type,
    ...value,
    ...(generation && { observedGeneration: generation }),
    lastTransitionTime: unchanged ?? formatTime(nowMs),
  };
}

/** `DisruptionTarget`, which the agent sets once and keeps, is among the conditions of other components. */
function foreignConditions(view: ConditionsView): PodCondition[] {
  const { pod, previous } = view;
  const own: readonly string[] = [...KUBELET_CONDITIONS, ...RESIZE_CONDITIONS, RESTARTING_ALL_CONDITION];
  const disruption = newDisruption(view) ?? previous?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  const others = (pod.status?.conditions ?? []).filter(
    ({ type }) => !own.includes(type) && !(disruption && type === disruption.type),
  );
  return disruption ? [...others, disruption] : others;
}

function newDisruption(view: ConditionsView): PodCondition | undefined {
  if (!view.failure?.disruption) return undefined;
  const message = view.failure.disruptionMessage ?? view.failure.message;
  return condition('DisruptionTarget', { status: 'True', reason: 'TerminationByKubelet', message }, view);
}

/** Only for pods with a `RestartAllContainers` rule, and without a generation, as in kubelet. */
function restartingCondition(view: ConditionsView): PodCondition[] {
  if (!mayRestartAllContainers(view.pod.spec)) return [];
  const { observedGeneration: _, ...rest } = condition(RESTARTING_ALL_CONDITION, restartingValue(view), view);
  return [rest];
}

function restartingValue({ pod, observed, previous, phase }: ConditionsView): ConditionValue {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  if (!mustRestartAll(pod, observed, previous) || areAllRemoved(pod, observed)) return conditionValue(false);
  const message = 'container exited with restart policy rule';
  return { status: 'True', reason: 'RestartAllContainersStarted', message };
}

/** The newest sandbox is ready, the only one, on the right network, and has an address where it needs one. */
function hasUsableSandbox({ pod, observed }: ConditionsView): boolean {
  const [newest, ...older] = observed?.sandboxes ?? [];
  const hostNetwork = pod.spec.hostNetwork ?? false;
  if (!newest?.ready || older.some(({ ready }) => ready) || newest.hostNetwork !== hostNetwork) return false;
  return hostNetwork || newest.ips.length > 0;
}

function initializedValue({ pod, statuses, phase, previous }: ConditionsView): ConditionValue {
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  const hasRegularStarted = statuses.regular.some(({ state }) => state?.running || state?.terminated);
  if (hasRegularStarted) return conditionValue(true);
  const incomplete = (pod.spec.initContainers ?? []).filter((container) => {
    const status = statuses.init.find(({ name }) => name === container.name);
    return !(isSidecar(container) ? status?.started : status?.ready);
  });
  if (incomplete.length === 0 || wasInitialized(previous)) return conditionValue(true);
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: ${listed(incomplete)}`,
  };
}

/** A pod that was initialized once never counts as uninitialized again. */
function wasInitialized(previous: PodStatus | undefined): boolean {
  return previous?.conditions?.some(({ type, status }) => type === 'Initialized' && status === 'True') ?? false;
}

function containersReadyValue({ pod, statuses, phase }: ConditionsView): ConditionValue {
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  const isReady = ({ name }: { readonly name: string }, among: readonly ContainerStatus[]) =>
    among.some((status) => status.name === name && status.ready);
  const unready = [
    ...(pod.spec.initContainers ?? []).filter((init) => isSidecar(init) && !isReady(init, statuses.init)),
    ...pod.spec.containers.filter((container) => !isReady(container, statuses.regular)),
  ];
  if (unready.length === 0) return conditionValue(true);
  return {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: ${listed(unready)}`,
  };
}

/** The `Ready` condition of a pod whose containers are ready. */
function readinessGatesValue(pod: Pod, conditions: readonly PodCondition[]): ConditionValue {
  const messages = unsatisfiedGates(pod, conditions);
  if (messages.length === 0) return conditionValue(true);
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: messages.join(', ') };
}

function conditionValue(holds: boolean): ConditionValue {
  return { status: holds ? 'True' : 'False' };
}

function listed(containers: ReadonlyArray<{ readonly name: string }>): string {
  return `[${containers.map(({ name }) => name).join(' ')}]`;
}
