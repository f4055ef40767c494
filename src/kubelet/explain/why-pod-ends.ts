import { assertNever } from '../../base/assert-never.ts';
import { specGracePeriod } from '../pod/grace-period.ts';
import type { EvictionCause, StorageViolation } from '../pod/pod-cause.ts';
import { rejectionMessage } from '../pod/pod-failure.ts';
import { isSidecar } from '../pod/restart-rules.ts';
import type { PodReport } from './agent-view.ts';
import { endText, lastEnd } from './container-end.ts';
import { type ExplainedContainer, explainedContainers } from './explained-container.ts';
import { durationText, forText, inText, listText, sentence } from './plain-text.ts';
import { podName } from './pod-name.ts';
import { failedSync, runningSteps } from './why-pod-waits.ts';

/** A container that runs for longer after its SIGTERM is said to ignore it. */
const PATIENCE_MS = 2_000;

/** Explains a pod whose containers are being stopped. */
export function whyStopping(report: PodReport, nowMs: number): string[] {
  const { progress } = report;
  const since = progress ? ` (${forText(progress.phaseSinceMs, nowMs)})` : '';
  return [
    `${podName(report)} is ending${since}: ${endingCause(report)}.`,
    ...graceText(report, nowMs),
    ...stillRunning(report, nowMs),
    ...failedSync(report, nowMs).flatMap(({ sentences }) => sentences),
  ];
}

/** Explains a pod without running containers that is not removed yet. */
export function whyEnded(report: PodReport, nowMs: number): string[] {
  const isLeaving = report.worker === 'terminated' || report.progress?.removed;
  const work = isLeaving ? [...runningSteps(report, nowMs), ...failedSync(report, nowMs)] : [];
  const containers = explainedContainers(report, nowMs);
  return [
    endedSummary(report),
    ...statusMessage(report),
    ...work.flatMap(({ sentences }) => sentences),
    ...containers.flatMap(containerEnd),
    ...restartText(report, containers),
  ];
}

/** Explains a pod that admission rejected. */
export function whyRejected(report: PodReport): string[] {
  const { reason = 'no reason', message: statusMessage = '' } = report.status;
  const message = rejectionMessage(report.status) ?? statusMessage;
  return [
    `${podName(report)} was rejected by this node (${reason}), so nothing of it was started.`,
    ...(message === '' ? [] : [`The reason: ${withoutFullStop(message)}.`]),
    'It is checked again when its manifest changes.',
  ];
}

function endingCause(report: PodReport): string {
  const { pod, status, progress } = report;
  const { reason, message } = status;
  if (reason === 'DeadlineExceeded') return deadlineText(pod.spec.activeDeadlineSeconds);
  const eviction = evictionText(report);
  if (reason === 'Evicted' && eviction !== '') return `it is evicted${eviction}`;
  if (status.phase === 'Failed' && reason !== undefined)
    return `${reason}${message ? ` (${withoutFullStop(message)})` : ''}`;
  if (pod.metadata.deletionTimestamp !== undefined) return 'it was deleted';
  return progress?.removed ? 'it left its source, or was stopped by hand' : 'its containers are done';
}

function graceText({ pod, observed, progress }: PodReport, nowMs: number): string[] {
  const isAnyLive = observed?.containers.some(({ state }) => state === 'running') ?? false;
  if (progress?.graceEndsMs === undefined || !isAnyLive) return [];
  if (progress.graceEndsMs > nowMs) return [`What still runs is killed ${inText(progress.graceEndsMs, nowMs)}.`];
  const grace = durationText(specGracePeriod(pod) * 1000);
  return [`Its time to end (${grace}) is over: what still runs is being killed.`];
}

/** The containers that still run, and whether they were asked to end. */
function stillRunning(report: PodReport, nowMs: number): string[] {
  const { observed, steps, pod } = report;
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const live = observed?.containers.filter(({ state }) => state === 'running') ?? [];
  if (live.length === 0) return runningSteps(report, nowMs).flatMap(({ sentences }) => sentences);
  return live.map(({ name }) => {
    const title = `${sidecars.includes(name) ? 'sidecar' : 'container'} ${name}`;
    const hook = steps.findLast((step) => step.name === 'preStop hook' && step.subject === name);
    const stop = steps.findLast((step) => step.name === 'stop container' && step.subject === name);
    if (stop?.outcome.kind !== 'running' && hook?.outcome.kind === 'running') {
      return sentence(
        `${title} still runs: its preStop hook has been running for ${durationText(nowMs - hook.startedMs)}`,
      );
    }
    if (stop?.outcome.kind !== 'running') {
      return sentence(sidecars.includes(name) ? `${title} runs until the others have ended` : `${title} still runs`);
    }
    const asked = durationText(nowMs - stop.startedMs);
    const isPatient = nowMs - stop.startedMs < PATIENCE_MS;
    return isPatient
      ? sentence(`${title} was asked to end ${asked} ago`)
      : sentence(`${title} was asked to end ${asked} ago and still runs: it ignores SIGTERM, or needs the time`);
  });
}

function endedSummary(report: PodReport): string {
  const { status, worker, pod } = report;
  const name = podName(report);
  if (status.reason === 'DeadlineExceeded')
    return `${name} has failed: ${deadlineText(pod.spec.activeDeadlineSeconds)}.`;
  if (status.reason === 'Evicted') return `${name} was evicted${evictionText(report)}.`;
  if (status.phase === 'Succeeded') return `${name} is done: every container ended without an error.`;
  if (status.phase === 'Failed') return `${name} has failed${failedContainers(report)}.`;
  return worker === 'terminated' ? `${name} has stopped, and its resources are being released.` : `${name} has ended.`;
}

/** `: the node was short of memory (90Mi left, evicts below 100Mi)`; empty if the eviction is not known any more. */
function evictionText({ events }: PodReport): string {
  const cause = events.findLast(({ reason }) => reason === 'Evicted')?.cause;
  if (cause?.kind === 'storageLimitExceeded') return `: ${violationText(cause.violation)}`;
  if (cause?.kind !== 'nodeLow') return '';
  const { crossed } = cause;
  const figures = crossed ? ` (${crossed.available} left, evicts below ${crossed.threshold})` : '';
  return `: the node was short of ${RESOURCE_TEXTS[cause.resource]}${figures}`;
}

const RESOURCE_TEXTS: Readonly<Record<(EvictionCause & { kind: 'nodeLow' })['resource'], string>> = {
  memory: 'memory',
  'ephemeral-storage': 'disk space',
  inodes: 'inodes',
  pids: 'process ids',
};

function violationText(violation: StorageViolation): string {
  switch (violation.kind) {
    case 'emptyDir':
      return `its volume ${violation.volume} has more than its limit of ${violation.limit}`;
    case 'pod':
      return `it has more than its limit of ${violation.limit} on the node's disk`;
    case 'container':
      return `container ${violation.container} has more than its limit of ${violation.limit} on the node's disk`;
    default:
      return assertNever(violation);
  }
}

function failedContainers(report: PodReport): string {
  if (report.status.reason) return `: ${report.status.reason}`;
  const failed = explainedContainers(report, 0).filter(
    (container) => container.role !== 'ephemeral' && (lastEnd(container)?.exitCode ?? 0) !== 0,
  );
  const texts = failed.map((container) => `${container.title} (exit code ${lastEnd(container)?.exitCode})`);
  return texts.length === 0 ? '' : `: ${listText(texts)}`;
}

function statusMessage({ status }: PodReport): string[] {
  const isInSummary = status.reason === 'DeadlineExceeded' || !status.message;
  return isInSummary ? [] : [`The reason: ${withoutFullStop(status.message ?? '')}.`];
}

function containerEnd(container: ExplainedContainer): string[] {
  const end = lastEnd(container);
  return end ? [sentence(`${container.title} ${endText(end, container)}`)] : [];
}

function restartText({ pod, status }: PodReport, containers: readonly ExplainedContainer[]): string[] {
  const isOwnEnd = status.reason === undefined && containers.some((container) => lastEnd(container) !== undefined);
  const policy = pod.spec.restartPolicy ?? 'Always';
  if (!isOwnEnd || status.phase !== 'Failed' || policy !== 'Never') return [];
  return ['Its restart policy is Never, so nothing is tried again.'];
}

function deadlineText(seconds: number | undefined): string {
  const limit = seconds === undefined ? '' : ` of ${durationText(seconds * 1000)}`;
  return `it was active for longer than its deadline${limit}`;
}

function withoutFullStop(text: string): string {
  return text.replace(/[.\s]+$/, '');
}
