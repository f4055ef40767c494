import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../api/generated/core-v1.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { humanAge } from './human-age.ts';

/** The cells of `kubectl get pods`. */
export interface PodRow {
  readonly namespace: string;
  readonly name: string;
  /** `1/2` */
  readonly ready: string;
  readonly status: string;
  /** `0`, or `3 (25s ago)`. */
  readonly restarts: string;
  readonly age: string;
  readonly ip: string;
  readonly node: string;
}

interface Tally {
  readonly reason: string;
  readonly ready: number;
  readonly restarts: number;
  /** Finish times of the previous containers. */
  readonly lastEnds: readonly string[];
}

/** `terminating`: the pod is ending; a pod without an API object has no deletion timestamp. */
export function podRow(pod: Pod, nowMs: number, terminating: boolean): PodRow {
  const { metadata, spec, status = {} } = pod;
  const sidecars = (spec.initContainers ?? []).filter(isSidecar).length;
  const { reason, ready, restarts, lastEnds } = tallyContainers(pod, status);
  const isLeaving = terminating || metadata.deletionTimestamp !== undefined;
  const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    ready: `${ready}/${spec.containers.length + sidecars}`,
    status: isLeaving && !isOver ? 'Terminating' : reason,
    restarts: restartsText(restarts, lastEnds, nowMs),
    age: ageText(metadata.creationTimestamp ?? status.startTime, nowMs),
    ip: status.podIPs?.[0]?.ip || status.podIP || '<none>',
    node: spec.nodeName || '<none>',
  };
}

/** While init containers run, they decide; afterwards the containers, with the restarts of the sidecars. */
function tallyContainers(pod: Pod, status: PodStatus): Tally {
  const init = initTally(pod, status);
  const isInitialized = hasTrueCondition(status, 'Initialized');
  if (init.reason !== undefined && !isInitialized) return { ...init, reason: init.reason };
  const sidecars = (status.initContainerStatuses ?? []).filter(({ name }) => isSidecarName(pod, name));
  const containers = (status.containerStatuses ?? []).toReversed();
  const counted = [...sidecars, ...containers];
  const given = init.reason ?? status.reason ?? status.phase ?? '';
  return {
    // kubectl shows how the containers of an evicted pod ended; that it was evicted says more.
    reason: status.reason === 'Evicted' ? status.reason : containersReason(status, containers, given),
    ready: init.ready + containers.filter((container) => container.ready && container.state?.running).length,
    restarts: sum(counted.map(({ restartCount }) => restartCount)),
    lastEnds: lastFinishTimes(counted),
  };
}

/** Counts up to the first init container that is not done, and has its `reason`. */
function initTally(pod: Pod, status: PodStatus): Omit<Tally, 'reason'> & { readonly reason: string | undefined } {
  const statuses = status.initContainerStatuses ?? [];
  const seen: ContainerStatus[] = [];
  let ready = 0;
  let reason: string | undefined;
  for (const [index, container] of statuses.entries()) {
    seen.push(container);
    if (container.state?.terminated?.exitCode === 0) continue;
    if (isSidecarName(pod, container.name) && container.started) {
      if (container.ready) ready++;
      continue;
    }
    reason = initReason(container.state, index, pod.spec.initContainers?.length ?? 0);
    break;
  }
  return {
    reason,
    ready,
    restarts: sum(seen.map(({ restartCount }) => restartCount)),
    lastEnds: lastFinishTimes(seen),
  };
}

function initReason(state: ContainerState | undefined, index: number, total: number): string {
  if (state?.terminated) return `Init:${endReason(state.terminated)}`;
  const waiting = state?.waiting?.reason;
  return waiting && waiting !== 'PodInitializing' ? `Init:${waiting}` : `Init:${index}/${total}`;
}

function containersReason(status: PodStatus, lastToFirst: readonly ContainerStatus[], given: string): string {
  let reason = given;
  let failure: string | undefined;
  for (const { state } of lastToFirst) {
    if (state?.waiting?.reason) reason = state.waiting.reason;
    else if (state?.terminated) {
      reason = endReason(state.terminated);
      if (state.terminated.exitCode !== 0) failure = reason;
    }
  }
  if (reason !== 'Completed') return reason;
  const isRunning = lastToFirst.some((container) => container.ready && container.state?.running);
  if (isRunning && hasTrueCondition(status, 'Ready')) return 'Running';
  return failure ?? (isRunning ? 'NotReady' : reason);
}

function endReason({ reason, signal, exitCode }: NonNullable<ContainerState['terminated']>): string {
  if (reason) return reason;
  return signal ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

function restartsText(restarts: number, ends: readonly string[], nowMs: number): string {
  const last = Math.max(...ends.map(parseTime));
  return restarts === 0 || ends.length === 0 ? `${restarts}` : `${restarts} (${humanAge(nowMs - last)} ago)`;
}

function ageText(since: string | undefined, nowMs: number): string {
  return since ? humanAge(nowMs - parseTime(since)) : '<unknown>';
}

function lastFinishTimes(containers: readonly ContainerStatus[]): string[] {
  return containers.flatMap(({ lastState }) => lastState?.terminated?.finishedAt ?? []);
}

function hasTrueCondition({ conditions = [] }: PodStatus, type: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === 'True');
}

function isSidecarName({ spec }: Pod, name: string): boolean {
  return (spec.initContainers ?? []).some((container) => container.name === name && isSidecar(container));
}

function isSidecar({ restartPolicy }: { readonly restartPolicy?: string | undefined }): boolean {
  return restartPolicy === 'Always';
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
