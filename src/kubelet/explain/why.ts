import type { PodCondition } from '../../api/generated/core-v1.ts';
import { assertNever } from '../../base/assert-never.ts';
import { parseTime } from '../../base/rfc3339.ts';
import { isTerminal } from '../status/pod-phase.ts';
import type { OlderPod, PodReport } from './agent-view.ts';
import { endText } from './container-end.ts';
import { type ExplainedContainer, explainedContainers } from './explained-container.ts';
import { byImportance, type Finding } from './finding.ts';
import { forText, inText, sentence } from './plain-text.ts';
import { podName } from './pod-name.ts';
import { whyContainerRuns } from './why-container-runs.ts';
import { whyContainerWaits } from './why-container-waits.ts';
import { whyEnded, whyRejected, whyStopping } from './why-pod-ends.ts';
import { whyPodWaits } from './why-pod-waits.ts';

/**
 * Explains the state of a pod in plain sentences: first a summary, then what it waits for, since when, and its last
 * errors, the most important first.
 */
export function why(report: PodReport, nowMs: number): readonly string[] {
  switch (report.worker) {
    case 'waiting':
      return whyWaiting(report, nowMs);
    case 'syncing':
      return isTerminal(report.status.phase) ? whyEnded(report, nowMs) : whySyncing(report, nowMs);
    case 'terminating':
      return whyStopping(report, nowMs);
    case 'terminated':
      return whyEnded(report, nowMs);
    case 'finished':
      return isRejected(report) ? whyRejected(report) : whyEnded(report, nowMs);
    default:
      return assertNever(report.worker);
  }
}

/** A rejected pod has a status and no worker. */
function isRejected({ status, progress, observed }: PodReport): boolean {
  return progress === undefined && observed === undefined && status.phase === 'Failed';
}

const OLDER_POD: Readonly<Record<OlderPod['worker'], string>> = {
  waiting: 'has not started either',
  syncing: 'still runs',
  terminating: 'is stopping its containers',
  terminated: 'has stopped and releases its resources',
  finished: 'has ended, but is not removed yet',
};

function whyWaiting(report: PodReport, nowMs: number): string[] {
  const { waitsFor, progress } = report;
  const since = progress ? `, and has waited ${forText(progress.phaseSinceMs, nowMs)}` : '';
  return [
    `${podName(report)} has not started: it waits until an older pod of its name is gone${since}.`,
    ...(waitsFor ? [`The older pod (uid ${waitsFor.uid}) ${OLDER_POD[waitsFor.worker]}.`] : []),
  ];
}

function whySyncing(report: PodReport, nowMs: number): string[] {
  const containers = explainedContainers(report, nowMs);
  const findings = byImportance([...whyPodWaits(report, nowMs), ...containers.flatMap(whyContainer)]);
  const ready = report.status.conditions?.find(({ type }) => type === 'Ready');
  const isReady = ready?.status === 'True';
  const first = findings.find(({ kind }) => kind !== 'note')?.summary;
  const nothing = first === undefined && !isReady ? [nextCheck(report, nowMs)] : [];
  return [summary(podName(report), ready, first, nowMs), ...mergedSentences(findings), ...nothing];
}

/** Two adjacent findings that end with the same sentence, such as the next retry, have it once. */
function mergedSentences(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ sentences }, at) => {
    const next = findings[at + 1]?.sentences ?? [];
    const isShared = sentences.length > 1 && next.length > 1 && sentences.at(-1) === next.at(-1);
    return isShared ? sentences.slice(0, -1) : sentences;
  });
}

function summary(name: string, ready: PodCondition | undefined, reason: string | undefined, nowMs: number): string {
  const since = ready?.lastTransitionTime ? ` (${forText(parseTime(ready.lastTransitionTime), nowMs)})` : '';
  if (ready?.status === 'True') return `${name} is running and ready${since}.`;
  return `${name} is not ready${since}${reason === undefined ? '' : `: ${reason}`}.`;
}

/** An ephemeral container is a note: it never decides the state of its pod. */
function whyContainer(container: ExplainedContainer): Finding[] {
  const findings = findingsOf(container);
  return container.role === 'ephemeral' ? findings.map((finding) => ({ ...finding, kind: 'note' })) : findings;
}

function findingsOf(container: ExplainedContainer): Finding[] {
  const { state } = container.status;
  if (state?.running) return whyContainerRuns(container);
  return state?.terminated ? whyContainerEnded(container) : whyContainerWaits(container);
}

/** The container may restart right away, or be done while others of its pod still run. */
function whyContainerEnded(container: ExplainedContainer): Finding[] {
  const { title, status, role } = container;
  const end = status.state?.terminated;
  if (end === undefined || (role === 'init' && end.exitCode === 0)) return [];
  return [
    { kind: 'ended', summary: `${title} has ended`, sentences: [sentence(`${title} ${endText(end, container)}`)] },
  ];
}

function nextCheck({ progress }: PodReport, nowMs: number): string {
  if (progress?.nextSyncMs === undefined) return 'Its worker is syncing it right now.';
  return `Nothing is under way; its worker checks it again ${inText(progress.nextSyncMs, nowMs)}, or when something changes.`;
}
