import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/generated/core-v1.ts';
import { formatTime } from '../../base/rfc3339.ts';
import type { ObservedPod } from '../pod/observed-pod.ts';
import type { PodFailure } from '../pod/pod-failure.ts';
import { mayRestartAllContainers, isSidecar } from '../pod/restart-rules.ts';
import type { ContainerStatuses } from './container-statuses.ts';
import { isTerminal, type PodPhase } from './pod-phase.ts';
import { closedGates } from './readiness-gates.ts';
import { isCleared, RESTARTING_ALL_CONDITION, restartsAll } from './restart-of-all.ts';

/** All that the conditions of a pod depend on. */
export interface ConditionsView {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly statuses: ContainerStatuses;
  readonly phase: PodPhase;
  readonly previous: PodStatus | undefined;
  readonly verdict?: PodFailure | undefined;
  /** How far a resize is; absent: nothing is to be told of any. */
  readonly resizing?: readonly PodCondition[] | undefined;
  readonly nowMs: number;
}

/** What a condition says; who adds the rest knows the pod's generation and the time. */
type Verdict = Pick<PodCondition, 'status' | 'reason' | 'message'>;

const KUBELET_CONDITIONS = [
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
] as const;

/** These too are kubelet's own. */
const RESIZE_CONDITIONS = ['PodResizePending', 'PodResizeInProgress'];

/**
 * First the conditions of others, as the API server has them, then kubelet's own in its order. A condition whose status
 * has not changed keeps the time of its last change.
 */
export function podConditions(view: ConditionsView): PodCondition[] {
  const foreign = foreignConditions(view);
  const containersReady = containersReadyVerdict(view);
  const verdicts: Record<(typeof KUBELET_CONDITIONS)[number], Verdict> = {
    PodReadyToStartContainers: verdictOf(hasUsableSandbox(view)),
    Initialized: initializedVerdict(view),
    Ready: containersReady.status === 'True' ? gatesVerdict(view.pod, foreign) : containersReady,
    ContainersReady: containersReady,
    PodScheduled: verdictOf(true),
  };
  return [
    ...foreign,
    ...(isTerminal(view.phase) ? [] : (view.resizing ?? [])),
    ...KUBELET_CONDITIONS.map((type) => condition(type, verdicts[type], view)),
    ...restartingCondition(view),
  ];
}

function condition(type: string, verdict: Verdict, { pod, previous, nowMs }: ConditionsView): PodCondition {
  const before = previous?.conditions?.find((candidate) => candidate.type === type);
  const unchanged = before?.status === verdict.status ? before.lastTransitionTime : undefined;
  const { generation } = pod.metadata;
  return {
    type,
    ...verdict,
    ...(generation && { observedGeneration: generation }),
    lastTransitionTime: unchanged ?? formatTime(nowMs),
  };
}

/** Conditions that only the agent sets on one occasion, and then keeps, stand among those of others. */
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
  if (!view.verdict?.disruption) return undefined;
  const { message } = view.verdict;
  return condition('DisruptionTarget', { status: 'True', reason: 'TerminationByKubelet', message }, view);
}

/** Only of pods to which it can happen, and without a generation, as with kubelet. */
function restartingCondition(view: ConditionsView): PodCondition[] {
  if (!mayRestartAllContainers(view.pod.spec)) return [];
  const { observedGeneration: _, ...rest } = condition(RESTARTING_ALL_CONDITION, restartingVerdict(view), view);
  return [rest];
}

function restartingVerdict({ pod, observed, previous, phase }: ConditionsView): Verdict {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  if (!restartsAll(pod, observed, previous) || isCleared(pod, observed)) return verdictOf(false);
  const message = 'container exited with restart policy rule';
  return { status: 'True', reason: 'RestartAllContainersStarted', message };
}

/** The newest sandbox is ready, alone, on the right network, and has an address where it needs one. */
function hasUsableSandbox({ pod, observed }: ConditionsView): boolean {
  const [newest, ...older] = observed?.sandboxes ?? [];
  const hostNetwork = pod.spec.hostNetwork ?? false;
  if (!newest?.ready || older.some(({ ready }) => ready) || newest.hostNetwork !== hostNetwork) return false;
  return hostNetwork || newest.ips.length > 0;
}

function initializedVerdict({ pod, statuses, phase, previous }: ConditionsView): Verdict {
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  const hasRegularStarted = statuses.regular.some(({ state }) => state?.running || state?.terminated);
  if (hasRegularStarted) return verdictOf(true);
  const incomplete = (pod.spec.initContainers ?? []).filter((container) => {
    const status = statuses.init.find(({ name }) => name === container.name);
    return !(isSidecar(container) ? status?.started : status?.ready);
  });
  if (incomplete.length === 0 || wasInitialized(previous)) return verdictOf(true);
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

function containersReadyVerdict({ pod, statuses, phase }: ConditionsView): Verdict {
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  const isReady = ({ name }: { readonly name: string }, among: readonly ContainerStatus[]) =>
    among.some((status) => status.name === name && status.ready);
  const unready = [
    ...(pod.spec.initContainers ?? []).filter((init) => isSidecar(init) && !isReady(init, statuses.init)),
    ...pod.spec.containers.filter((container) => !isReady(container, statuses.regular)),
  ];
  if (unready.length === 0) return verdictOf(true);
  return {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: ${listed(unready)}`,
  };
}

/** Of a pod whose containers are ready. */
function gatesVerdict(pod: Pod, conditions: readonly PodCondition[]): Verdict {
  const messages = closedGates(pod, conditions);
  if (messages.length === 0) return verdictOf(true);
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: messages.join(', ') };
}

function verdictOf(holds: boolean): Verdict {
  return { status: holds ? 'True' : 'False' };
}

function listed(containers: ReadonlyArray<{ readonly name: string }>): string {
  return `[${containers.map(({ name }) => name).join(' ')}]`;
}
